package webhook_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
)

// Whatever is sent, it is refused with one of the statuses that we know, or it is stored whole and is one JSON object.
func FuzzRequest(f *testing.F) {
	f.Add("application/json", "issue_comment", id, "", []byte(object))
	f.Add("application/x-www-form-urlencoded", "ping", id, "ghe.example.com", []byte("payload=%7B%7D"))
	f.Add("application/json; charset=utf-8", "a b", "../x", "a/b", []byte("[{}]"))
	f.Add("", "", "", "é", []byte{0xff, 0, '{'})
	f.Fuzz(func(t *testing.T, contentType, event, delivery, host string, body []byte) {
		s := &shelf{}
		r := signed(string(body))
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("X-GitHub-Event", event)
		r.Header.Set("X-GitHub-Delivery", delivery)
		if host != "" {
			r.Header.Set("X-GitHub-Enterprise-Host", host)
		}
		res := serve(receiver(t, options(s)), r)
		switch res.Code {
		case http.StatusAccepted:
			got := s.all()
			if len(got) != 1 || !json.Valid(got[0].Body) || bytes.TrimSpace(got[0].Body)[0] != '{' {
				t.Errorf("accepted, and stored %d deliveries: %+v", len(got), got)
			}
		case http.StatusBadRequest, http.StatusUnsupportedMediaType:
			if got := s.all(); len(got) != 0 {
				t.Errorf("refused with %d, and stored %+v", res.Code, got)
			}
		default:
			t.Errorf("status = %d", res.Code)
		}
	})
}
