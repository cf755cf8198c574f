// In place of a cloud's library that flanneld links for a backend which nothing here asks for.
module github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/vpc

go 1.26.0
