package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/loop-daemon/loop/internal/github"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// The headers that reach the service, as net/http spells them.
const (
	headerSignature = github.SignatureHeader
	headerEvent     = "X-Github-Event"
	headerDelivery  = "X-Github-Delivery"
	headerHookID    = "X-Github-Hook-Id"
	headerHost      = "X-Github-Enterprise-Host"
)

var knownHeaders = map[string]bool{
	headerSignature: true, headerEvent: true, headerDelivery: true, headerHookID: true, headerHost: true,
}

// retryAfter is how many seconds we ask a sender to wait when a delivery cannot be stored now.
const retryAfter = "30"

// newGateway returns the mux that translates a request into a call of loop.v1.Webhooks. The service is called in process:
// there is no interceptor and no peer, so nothing that needs authorization by user may ever be registered on it.
func newGateway() *runtime.ServeMux {
	return runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &rawBody{
			runtime.JSONPb{MarshalOptions: protojson.MarshalOptions{UseProtoNames: true}},
		}),
		runtime.WithIncomingHeaderMatcher(func(name string) (string, bool) {
			return strings.ToLower(name), knownHeaders[name] || name == "Content-Type"
		}),
		runtime.WithOutgoingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithForwardResponseOption(accepted),
		runtime.WithErrorHandler(refused),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
	)
}

// rawBody binds an HTTP body to a bytes field as it is, whatever its content type.
type rawBody struct{ runtime.JSONPb }

// NewDecoder hands over the slice that the door has read.
func (*rawBody) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		field, isBytes := v.(*[]byte)
		h, isHeld := r.(*held)
		if !isBytes || !isHeld {
			return errors.New("only a bytes field is bound to a body that the door has read")
		}
		*field = h.body
		return nil
	})
}

// accepted makes the answer to a stored delivery a 202. It goes by the reply's type, since nothing else tells the methods
// of the mux apart.
func accepted(_ context.Context, w http.ResponseWriter, m proto.Message) error {
	if _, ok := m.(*loopv1.DeliverResponse); ok {
		w.WriteHeader(http.StatusAccepted)
	}
	return nil
}

// refused answers with the HTTP form of a gRPC status.
func refused(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
	st := status.Convert(err)
	if st.Code() == codes.Unavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	if st.Code() == codes.Unauthenticated {
		w.Header().Set("WWW-Authenticate", headerSignature)
	}
	answer(w, runtime.HTTPStatusFromCode(st.Code()), st.Message())
}

// answer writes a message as JSON.
func answer(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message}) // a client that went away is not our trouble
}
