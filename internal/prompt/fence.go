package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// A fence opens with the line "<<<github-data MARK" and closes with "github-data MARK>>>". MARK is a digest of all the data
// of the prompt: nobody can write a text that holds its own digest, and the same input gives the same prompt.
type fence struct {
	mark string
}

// newFence returns a fence that none of the blocks can close.
func newFence(blocks []string) fence {
	all := strings.Join(blocks, "\x00")
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s", n, all))
		if mark := hex.EncodeToString(sum[:8]); !strings.Contains(all, mark) {
			return fence{mark: mark}
		}
	}
}

func (f fence) around(data string) string {
	return "<<<github-data " + f.mark + "\n" + data + "\ngithub-data " + f.mark + ">>>"
}

var (
	opensFence  = regexp.MustCompile(`(?i)<<(<\s*github-data)`)
	closesFence = regexp.MustCompile(`(?i)(github-data\s+\w*\s*>)(>>)`)
)

// blunt breaks up what an agent, which does not compare digests, could take for one end of a fence.
func blunt(s string) string {
	return closesFence.ReplaceAllString(opensFence.ReplaceAllString(s, "<< $1"), "$1 $2")
}
