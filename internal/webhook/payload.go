package webhook

import (
	"bytes"
	"errors"
	"net/url"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

var errNoObject = errors.New("the payload must be one JSON object in UTF-8")

// payload returns the JSON of a body: the body itself, or the payload parameter of a form. A form was signed as it came;
// it is taken apart only now.
func payload(mediaType string, body []byte) ([]byte, error) {
	if mediaType == typeForm {
		form, err := url.ParseQuery(string(body))
		if err != nil || len(form["payload"]) != 1 {
			return nil, errors.New("the form must have one payload parameter, as GitHub sends it")
		}
		body = []byte(form.Get("payload"))
	}
	if !isObject(body) {
		return nil, errNoObject
	}
	return body, nil
}

// isObject reports whether b is one valid JSON object, in one pass over it. jsontext goes 10,000 levels deep and no
// further. Names that occur twice and escapes of half a surrogate pair are legal JSON, so they are no reason to refuse
// what GitHub will not send again.
func isObject(b []byte) bool {
	trimmed := bytes.TrimLeft(b, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && utf8.Valid(b) &&
		jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
