package webhook

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/loop"
)

// authenticate refuses a request whose signature is missing, malformed or wrong, always in the same words: who does not
// know the secret learns nothing about it. It reports whether there was one.
func (s *service) authenticate(ctx context.Context, md metadata.MD, body []byte) (signed bool, err error) {
	signature := md.Get(headerSignature)
	if len(signature) == 0 && s.AllowUnsigned != nil && s.AllowUnsigned() && fromLoopback(md) {
		return false, nil
	}
	if err := github.Verify(s.Secrets(), body, signature); err != nil {
		s.badSignature(ctx)
		return false, status.Error(codes.Unauthenticated, headerSignature+" is missing or wrong")
	}
	s.badInRow.Store(0)
	return true, nil
}

// badSignature counts, and says so at the fifth in a row and then each time that there are ten times as many: a secret
// that is wrong on one side looks like a quiet day otherwise, and a stranger who tries must not fill the log.
func (s *service) badSignature(ctx context.Context) {
	s.badTotal.Add(1)
	n := s.badInRow.Add(1)
	for n > 5 && n%10 == 0 {
		n /= 10
	}
	if n != 5 {
		return
	}
	inRow := s.badInRow.Load()
	s.log.Warn("webhook signatures keep being wrong: compare the secret on GitHub with loopd's", "in_a_row", inRow)
	if s.Report != nil {
		s.Report(context.WithoutCancel(ctx), loop.LogEvent{
			Type:    loop.LogConfigWarning,
			Message: fmt.Sprintf("%d webhook requests in a row had a wrong signature: compare the secret on GitHub with loopd's", inRow),
			Fields:  map[string]string{"bad_signatures": strconv.FormatInt(s.badTotal.Load(), 10)},
		})
	}
}

// fromLoopback reports whether the request was addressed to a loopback name. A page on the web reaches a loopback listener
// only under a name of its own.
func fromLoopback(md metadata.MD) bool {
	host := one(md, "X-Forwarded-Host") // the gateway puts the request's Host here; the header of that name is not passed on
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
