package loop

import (
	"regexp"
	"strconv"
)

var branchIssue = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])issue[-/]([1-9][0-9]{0,9})(?:[^a-z0-9]|$)`)

// BranchIssue reads the number of the issue that a branch is for out of its name, by the convention …issue-N-… or issue/N,
// and 0 where the name holds none. The word stands alone: tissue-7 and reissue-7 name no issue, and neither does issue-7b.
// Of several the first counts. A name proves nothing: whether the issue exists must be asked elsewhere.
func BranchIssue(branch string) int {
	m := branchIssue.FindStringSubmatch(branch)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseInt(m[1], 10, 32)
	if err != nil {
		return 0
	}
	return int(n)
}
