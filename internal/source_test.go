package internal_test

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module   = "github.com/loop-daemon/loop"
	maxLines = 500
)

// TestPackageDocs asks every package to say what it is for and what it promises.
func TestPackageDocs(t *testing.T) {
	t.Parallel()
	for name, p := range tree(t) {
		if p.generated {
			continue
		}
		first := new(doc.Package).Synopsis(p.doc)
		if first == "" {
			t.Errorf("%s has no package comment: say what it is for and what it promises (order, blocking, durability)", name)
		} else if rest := strings.Join(strings.Fields(p.doc), " "); len(rest) <= len(first) {
			t.Errorf("%s's package comment is one sentence, %q: say what it promises too", name, first)
		}
	}
}

// TestMap keeps the map that `go doc ./internal` prints true.
func TestMap(t *testing.T) {
	t.Parallel()
	named := mapped(t)
	all := tree(t)
	for _, name := range named {
		if p := all[name]; p == nil || !p.internal {
			t.Errorf("the map in internal/doc.go names %s, which is not there", name)
		}
	}
	for name, p := range all {
		if p.internal && name != "internal" && !forTests(name) && !slices.Contains(named, name) {
			t.Errorf("internal/%s is not on the map: give it a line in internal/doc.go", name)
		}
	}
}

// TestFilesAreShort asks for another file, or another package, before one becomes hard to take in.
func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, p := range tree(t) {
		for file, lines := range p.lines {
			if lines > maxLines {
				t.Errorf("%s has %d lines, more than %d: move one of its subjects to a file of its own", file, lines, maxLines)
			}
		}
	}
}

// source is a package as its files tell of it, for every operating system at once.
type source struct {
	doc       string
	imports   []string       // of what is not a test, sorted
	lines     map[string]int // by file, of what a person wrote
	internal  bool
	generated bool // every file of it
}

// tree reads the module's packages, by the name that the tables use for them. It parses up to the imports only, and not
// what is in a folder that is a module of its own.
func tree(t *testing.T) map[string]*source {
	t.Helper()
	all, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var readTree = sync.OnceValues(func() (map[string]*source, error) {
	all := map[string]*source{}
	root, err := filepath.Abs("..")
	if err != nil {
		return nil, err
	}
	return all, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && notOurs(file) {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(file) != ".go" {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name, _ := roomOf(module + "/" + filepath.ToSlash(filepath.Dir(rel)))
		if all[name] == nil {
			all[name] = &source{
				generated: true,
				internal:  strings.HasPrefix(rel, "internal"),
				lines:     map[string]int{},
			}
		}
		return all[name].add(rel, file)
	})
})

// add reads one file of the package.
func (s *source) add(rel, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), rel, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	if !ast.IsGenerated(f) {
		s.generated = false
		s.lines[rel] = bytes.Count(text, []byte("\n"))
	}
	if d := f.Doc.Text(); len(d) > len(s.doc) {
		s.doc = d
	}
	if strings.HasSuffix(rel, "_test.go") {
		return nil
	}
	for _, spec := range f.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if at, found := slices.BinarySearch(s.imports, imp); !found {
			s.imports = slices.Insert(s.imports, at, imp)
		}
	}
	return nil
}

// notOurs tells whether the go command too would pass over the folder dir.
func notOurs(dir string) bool {
	base := filepath.Base(dir)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// roomOf turns an import path of ours into the name that the tables use.
func roomOf(imp string) (name string, ours bool) {
	rel, ours := strings.CutPrefix(imp, module+"/")
	return strings.TrimPrefix(rel, "internal/"), ours
}

var mapLine = regexp.MustCompile(`(?m)^\t([a-z0-9/]+) {2,}\S`)

// mapped lists the packages that the map in this package's doc comment names.
func mapped(t *testing.T) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range mapLine.FindAllStringSubmatch(f.Doc.Text(), -1) {
		names = append(names, m[1])
	}
	return names
}
