package github

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lenient is how what GitHub sends is read: texts in it are what strangers typed.
func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// The types below read a JSON value of their own shape and step over one of any other, so that one odd field costs
// nothing but itself.

// object is a JSON object of the shape T.
type object[T any] struct {
	is    T
	ok    bool // there was an object
	given bool // there was something, of whatever shape
}

func (o *object[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	kind := d.PeekKind()
	*o = object[T]{given: kind != 'n'}
	if kind != '{' {
		return d.SkipValue()
	}
	o.ok = true
	return json.UnmarshalDecode(d, &o.is)
}

// list is a JSON array. Its elements are as lenient as T.
type list[T any] []T

func (l *list[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*l = nil
	if d.PeekKind() != '[' {
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, (*[]T)(l))
}

// text is a JSON string.
type text string

func (s *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*s = ""
	if d.PeekKind() != '"' {
		return d.SkipValue()
	}
	token, err := d.ReadToken()
	if err == nil {
		*s = text(token.String())
	}
	return err
}

// number is a whole JSON number, or a string that spells one.
type number int64

func (n *number) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*n = 0
	if k := d.PeekKind(); k != '0' && k != '"' {
		return d.SkipValue()
	}
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	if v, err := strconv.ParseInt(token.String(), 10, 64); err == nil {
		*n = number(v)
	}
	return nil
}

// flag is a JSON boolean.
type flag bool

func (f *flag) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*f = d.PeekKind() == 't'
	return d.SkipValue()
}

// instant is a time as GitHub writes it.
type instant time.Time

func (i *instant) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var s text
	*i = instant{}
	if err := s.UnmarshalJSONFrom(d); err != nil {
		return err
	}
	if v, err := time.Parse(time.RFC3339, string(s)); err == nil {
		*i = instant(v.UTC())
	}
	return nil
}
