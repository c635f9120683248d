package unixsock

import (
	"context"
	"net"

	"google.golang.org/grpc"
)

// Dial returns a client of the server on path. It does not connect: the first call does, and fails at once with Unavailable
// when nobody listens or the server is another user's. Nothing of the environment (proxies, service configurations) takes part.
func Dial(path string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	connect := func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	opts = append([]grpc.DialOption{
		grpc.WithContextDialer(connect),
		grpc.WithTransportCredentials(ClientCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
	}, opts...)
	return grpc.NewClient("passthrough:///localhost", opts...)
}
