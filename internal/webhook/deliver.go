package webhook

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// putTimeout bounds the write of a delivery. GitHub has stopped listening long before; the row may still be written, and
// then the redelivery is a duplicate.
const putTimeout = 30 * time.Second

// kindPing is the event that GitHub sends when a webhook is made. It needs nothing more than to arrive.
const kindPing = "ping"

// service is loop.v1.Webhooks. It authenticates by the signature alone.
type service struct {
	loopv1.UnimplementedWebhooksServer
	Options

	log      *slog.Logger
	badTotal atomic.Int64 // signatures that were refused since the start
	badInRow atomic.Int64 // … since the last good one
}

// Deliver stores one delivery.
func (s *service) Deliver(ctx context.Context, req *loopv1.DeliverRequest) (*loopv1.DeliverResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	signed, err := s.authenticate(ctx, md, req.GetBody())
	if err != nil {
		return nil, err
	}
	d, err := read(md, req.GetBody())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, loop.Plain(err))
	}
	if !signed {
		d.HookID = "" // anybody may have said it, and GitHub is asked for what our webhooks could not bring
	}
	return s.store(ctx, d)
}

// read makes a delivery of an authentic request.
func read(md metadata.MD, body []byte) (loop.Delivery, error) {
	d := loop.Delivery{Source: loop.SourceWebhook, ReceivedAt: time.Now(), State: loop.StateReceived}
	var err error
	if d.Kind, err = eventType(md); err != nil {
		return d, err
	}
	if d.ID, err = deliveryID(md); err != nil {
		return d, err
	}
	if d.Host, err = enterpriseHost(md); err != nil {
		return d, err
	}
	if id := one(md, headerHookID); hookIDPattern.MatchString(id) {
		d.HookID = id
	}
	if d.Kind == kindPing {
		d.State, d.Reason, d.Decision, d.Summary = loop.StateDropped, loop.DropPing, loop.Drop, "ping"
	}
	d.Body, err = payload(one(md, "Content-Type"), body)
	return d, err
}

// store writes the delivery and answers. The write goes on when the sender hangs up: half a connection must not decide
// whether a delivery exists.
func (s *service) store(ctx context.Context, d loop.Delivery) (*loopv1.DeliverResponse, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), putTimeout)
	defer cancel()
	res, err := s.Put(ctx, d)
	if err != nil {
		s.log.Error("webhook delivery not stored, and answered 503: redeliver it on GitHub once this is mended",
			"delivery", d.ID, "kind", d.Kind, "err", err)
		return nil, status.Error(codes.Unavailable, "the delivery could not be stored; try again later")
	}
	if s.Step != nil {
		s.Step(StepStored)
	}
	level := slog.LevelDebug
	if d.Kind == kindPing {
		level = slog.LevelInfo // a person has just set the webhook up and looks for this
	}
	s.log.Log(ctx, level, "webhook delivery stored", "delivery", d.ID, "kind", d.Kind, "hook", d.HookID, "verdict", res.Verdict)
	return &loopv1.DeliverResponse{DeliveryId: string(d.ID), State: string(res.State), Reason: res.Reason}, nil
}

var (
	eventPattern  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	hookIDPattern = regexp.MustCompile(`^[0-9]{1,20}$`)
)

// one returns the value of a header that was sent exactly once, else "".
func one(md metadata.MD, header string) string {
	if v := md.Get(header); len(v) == 1 {
		return v[0]
	}
	return ""
}

func eventType(md metadata.MD) (string, error) {
	event := one(md, headerEvent)
	if !eventPattern.MatchString(event) {
		return "", errors.New("X-GitHub-Event must name one event type, as in issue_comment")
	}
	return event, nil
}

// deliveryID returns the id in lower case, so that two spellings are one delivery. It becomes a key, so nothing else than a
// UUID in its common form is one.
func deliveryID(md metadata.MD) (loop.DeliveryID, error) {
	text := one(md, headerDelivery)
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return "", errors.New("X-GitHub-Delivery must be one UUID")
	}
	return loop.DeliveryID(id.String()), nil
}

// enterpriseHost returns the host of the GitHub Enterprise server that sent the delivery, "" for github.com.
func enterpriseHost(md metadata.MD) (string, error) {
	if len(md.Get(headerHost)) == 0 {
		return "", nil
	}
	item, err := loop.NewWorkItem(one(md, headerHost), "o", "r", 1)
	if err != nil {
		return "", errors.New("X-GitHub-Enterprise-Host must be one host name with a dot or a port")
	}
	return item.Host, nil
}
