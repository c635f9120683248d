package unixsock

import (
	"context"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// AuthInfo says who is on the other side of a connection, by the kernel's word.
type AuthInfo struct {
	credentials.CommonAuthInfo
	UID int
	PID int // of the process that connected or listened; 0 when it can't be seen from here
}

// AuthType names the way in which the peer was identified.
func (AuthInfo) AuthType() string { return "peer" }

// FromContext returns who called, in a handler of a server with ServerCredentials.
func FromContext(ctx context.Context) (AuthInfo, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return AuthInfo{}, false
	}
	info, ok := p.AuthInfo.(AuthInfo)
	return info, ok
}

// ServerCredentials let a gRPC server know its callers. They accept every user: a refusal at the handshake would only look
// like a broken connection. RequireSameUser and RequireSameUserStream refuse with a status that says why.
func ServerCredentials() credentials.TransportCredentials { return peerCredentials{} }

// ClientCredentials let a gRPC client talk only to a server of the same user: another's is a squatter on our path.
func ClientCredentials() credentials.TransportCredentials { return peerCredentials{} }

// peerCredentials add nothing to the connection: the kernel carries it and knows both ends.
type peerCredentials struct{}

func (peerCredentials) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	info, err := identify(conn)
	if err != nil {
		return nil, nil, err
	}
	if me := os.Geteuid(); info.UID != me {
		return nil, nil, fmt.Errorf("socket %s is served by user %d (process %d), not by you (%d): not talking to it",
			conn.RemoteAddr(), info.UID, info.PID, me)
	}
	return conn, info, nil
}

func (peerCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	info, err := identify(conn)
	if err != nil {
		return nil, nil, err
	}
	return conn, info, nil
}

func (peerCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: AuthInfo{}.AuthType()}
}

func (c peerCredentials) Clone() credentials.TransportCredentials { return c }

func (peerCredentials) OverrideServerName(string) error { return nil }

func identify(conn net.Conn) (AuthInfo, error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return AuthInfo{}, fmt.Errorf("peer credentials need a Unix socket, not a %T", conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return AuthInfo{}, fmt.Errorf("read peer credentials: %w", err)
	}
	info := AuthInfo{CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}
	var readErr error
	if err := raw.Control(func(fd uintptr) { info.UID, info.PID, readErr = peerOf(int(fd)) }); err != nil {
		return AuthInfo{}, fmt.Errorf("read peer credentials: %w", err)
	}
	if readErr != nil {
		return AuthInfo{}, fmt.Errorf("read peer credentials: %w", readErr)
	}
	return info, nil
}

// RequireSameUser is a server's interceptor that answers PermissionDenied to every other user, root included.
func RequireSameUser(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := sameUser(ctx); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

// RequireSameUserStream is RequireSameUser for streams.
func RequireSameUserStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := sameUser(stream.Context()); err != nil {
		return err
	}
	return next(srv, stream)
}

func sameUser(ctx context.Context) error {
	info, ok := FromContext(ctx)
	if !ok {
		return status.Error(codes.PermissionDenied, "the caller's user is unknown")
	}
	if me := os.Geteuid(); info.UID != me {
		return status.Errorf(codes.PermissionDenied, "only user %d is answered here, and you are user %d", me, info.UID)
	}
	return nil
}
