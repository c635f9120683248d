package prompt

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// checkFields returns an error for the first field that a template names and that there is not, also in a branch that is
// seldom taken: text/template itself would notice only when it gets there.
func checkFields(tree *parse.Tree) error {
	c := checker{tree: tree}
	c.visit(tree.Root)
	return c.err
}

type checker struct {
	tree *parse.Tree
	err  error // the first one
}

func (c *checker) visit(nodes ...parse.Node) {
	for _, node := range nodes {
		switch n := node.(type) {
		case *parse.ListNode:
			if n != nil {
				c.visit(n.Nodes...)
			}
		case *parse.ActionNode:
			c.visit(n.Pipe)
		case *parse.PipeNode:
			c.pipe(n)
		case *parse.IfNode:
			c.branch(n.BranchNode)
		case *parse.RangeNode:
			c.branch(n.BranchNode)
		case *parse.WithNode:
			c.branch(n.BranchNode)
		case *parse.TemplateNode:
			c.pipe(n.Pipe)
		case *parse.FieldNode:
			c.name(n, n.Ident)
		case *parse.VariableNode:
			c.name(n, n.Ident[1:])
		case *parse.ChainNode:
			c.visit(n.Node)
			c.name(n, n.Field)
		}
	}
}

func (c *checker) branch(n parse.BranchNode) {
	c.pipe(n.Pipe)
	c.visit(n.List, n.ElseList)
}

func (c *checker) pipe(n *parse.PipeNode) {
	if n == nil {
		return
	}
	for _, cmd := range n.Cmds {
		c.visit(cmd.Args...)
	}
}

// name checks a chain of names below the dot or a variable. Every field is a text, so a second name is always wrong.
func (c *checker) name(n parse.Node, names []string) {
	known := fieldNames()
	if c.err != nil || len(names) == 0 || len(names) == 1 && slices.Contains(known, names[0]) {
		return
	}
	where, _ := c.tree.ErrorContext(n)
	c.err = fmt.Errorf("%s: there is no .%s; there are .%s", where, strings.Join(names, "."), strings.Join(known, ", ."))
}

func fieldNames() []string {
	var names []string
	for f := range reflect.TypeFor[fields]().Fields() {
		names = append(names, f.Name)
	}
	return names
}
