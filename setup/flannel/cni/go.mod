// flannel's CNI plugin, pinned: the last release of the module that has it and that the Go proxy gives.
module flannel-plugin

go 1.26.0

tool github.com/containernetworking/plugins/plugins/meta/flannel

require github.com/containernetworking/plugins v0.9.1 // indirect
