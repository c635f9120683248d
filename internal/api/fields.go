package api

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/loop"
)

// The checks of requests. Every error is loop.ErrInvalid and begins with the field's name.

// workItem reads a required ref in any form that people write.
func workItem(field, ref string) (loop.WorkItem, error) {
	if ref == "" {
		return loop.WorkItem{}, invalid(field, "is required, such as github:OWNER/REPO#N")
	}
	w, err := loop.ParseAny(ref)
	if err != nil {
		return w, fmt.Errorf("%s: %w", field, err)
	}
	return w, nil
}

// optionalItem reads a ref that may be empty.
func optionalItem(ref string) (loop.WorkItem, error) {
	if ref == "" {
		return loop.WorkItem{}, nil
	}
	return workItem("work_item", ref)
}

// maxDeliveryID is longer than any id that loopd makes or takes.
const maxDeliveryID = 512

// deliveryID reads a required id. A UUID may be in capitals.
func deliveryID(field, text string) (loop.DeliveryID, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", invalid(field, "is required: loopctl deliveries list shows the ids")
	}
	if len(text) > maxDeliveryID {
		return "", invalid(field, "is too long for the id of a delivery")
	}
	if id, err := uuid.Parse(text); err == nil && len(text) == len(id.String()) {
		return loop.DeliveryID(id.String()), nil
	}
	return loop.DeliveryID(text), nil
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

// name reads a required name such as that of a harness or an event type.
func name(field, text, example string) (string, error) {
	if text == "" {
		return "", invalid(field, "is required, such as "+example)
	}
	if !namePattern.MatchString(text) {
		return "", invalid(field, fmt.Sprintf("%q is no name; it is something like %s", text, example))
	}
	return text, nil
}

// folder reads a required absolute path.
func folder(field, path string) (string, error) {
	switch {
	case path == "":
		return "", invalid(field, "is required")
	case strings.ContainsRune(path, 0):
		return "", invalid(field, "holds a NUL byte")
	case !filepath.IsAbs(path):
		return "", invalid(field, fmt.Sprintf("%q is not absolute", path))
	}
	return filepath.Clean(path), nil
}

// oneOf reads a word that may be empty.
func oneOf[T ~string](field, text string, words ...T) (T, error) {
	if text == "" || slices.Contains(words, T(text)) {
		return T(text), nil
	}
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return "", invalid(field, fmt.Sprintf("%q is none of %s", text, strings.Join(all, ", ")))
}

func invalid(field, why string) error { return fmt.Errorf("%s: %s: %w", field, why, loop.ErrInvalid) }
