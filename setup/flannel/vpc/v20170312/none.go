// Package v20170312 has the names that flannel's backend for one cloud needs to compile, and refuses to act: the
// cloud's own library is in no proxy that a set-up may rely on.
package v20170312

import "errors"

var errAbsent = errors.New("flanneld was built without the library of this cloud")

// Route is an entry of a table.
type Route struct {
	RouteId, DestinationCidrBlock, GatewayId, GatewayType, RouteType *string
	Enabled                                                          *bool
}

// RouteTable is a table with its entries.
type RouteTable struct {
	RouteTableId *string
	RouteSet     []*Route
}

// Filter chooses tables.
type Filter struct {
	Name   *string
	Values []*string
}

// DescribeRouteTablesRequest asks for tables.
type DescribeRouteTablesRequest struct{ Filters []*Filter }

// DescribeRouteTablesResponse would hold them.
type DescribeRouteTablesResponse struct{ Response struct{ RouteTableSet []*RouteTable } }

// RoutesRequest names entries of a table.
type RoutesRequest struct {
	RouteTableId *string
	Routes       []*Route
}

// Client refuses everything.
type Client struct{}

// NewClientWithSecretId returns a client that refuses everything.
func NewClientWithSecretId(_, _, _ string) (*Client, error) { return &Client{}, errAbsent }

// NewDescribeRouteTablesRequest returns an empty request.
func NewDescribeRouteTablesRequest() *DescribeRouteTablesRequest { return &DescribeRouteTablesRequest{} }

// NewDeleteRoutesRequest returns an empty request.
func NewDeleteRoutesRequest() *RoutesRequest { return &RoutesRequest{} }

// NewCreateRoutesRequest returns an empty request.
func NewCreateRoutesRequest() *RoutesRequest { return &RoutesRequest{} }

// DescribeRouteTables refuses.
func (*Client) DescribeRouteTables(*DescribeRouteTablesRequest) (*DescribeRouteTablesResponse, error) {
	return nil, errAbsent
}

// DeleteRoutes refuses.
func (*Client) DeleteRoutes(*RoutesRequest) (*RoutesRequest, error) { return nil, errAbsent }

// CreateRoutes refuses.
func (*Client) CreateRoutes(*RoutesRequest) (*RoutesRequest, error) { return nil, errAbsent }
