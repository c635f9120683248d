package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// committer is the one connection that writes. Its methods are called by one goroutine at a time.
type committer struct {
	pool *sql.DB
	conn *sql.Conn

	// below is the driver's connection under conn. Statements that return nothing go to it directly, which saves what
	// database/sql does for each of them.
	below   driver.ConnPrepareContext
	execs   map[string]driver.Stmt
	queries map[string]*sql.Stmt
	args    []driver.NamedValue // used again for each statement
}

func (c *committer) connect(ctx context.Context, dsn string) (err error) {
	if c.pool, err = sql.Open("sqlite", dsn); err != nil {
		return err
	}
	if c.conn, err = c.pool.Conn(ctx); err != nil {
		return err
	}
	c.execs = map[string]driver.Stmt{}
	c.queries = map[string]*sql.Stmt{}
	return c.conn.Raw(func(conn any) error {
		var ok bool
		if c.below, ok = conn.(driver.ConnPrepareContext); !ok {
			return fmt.Errorf("%T cannot prepare statements", conn)
		}
		return nil
	})
}

// commit carries out the writes in one transaction. Each stands in a savepoint of its own, so that one that fails is
// undone alone; when the transaction itself is lost, all of them are.
func (c *committer) commit(writes []*write) {
	err := c.exec("BEGIN IMMEDIATE")
	for i := 0; i < len(writes) && err == nil; i++ {
		err = c.apply(writes[i])
	}
	if err == nil {
		err = c.exec("COMMIT")
	}
	if err == nil {
		return
	}
	_ = c.exec("ROLLBACK") // fails when SQLite has rolled back already; if it truly failed, the next BEGIN says so
	for _, w := range writes {
		if w.err == nil {
			w.err = err
		}
	}
}

// apply carries out one write; its error says that the whole transaction is lost.
func (c *committer) apply(w *write) error {
	if err := c.exec("SAVEPOINT one"); err != nil {
		return err
	}
	tx := &Tx{c: c}
	w.err = tx.run(w.do)
	w.after = tx.after
	lost := tx.lost
	tx.lost = errEnded
	if lost != nil {
		return lost
	}
	if w.err != nil {
		if err := c.exec("ROLLBACK TO one"); err != nil {
			return errors.Join(w.err, err)
		}
	}
	return c.exec("RELEASE one")
}

func (c *committer) exec(query string) error {
	_, err := c.execArgs(query, nil)
	return err
}

// execArgs does without the caller's context: one that can end costs a goroutine a statement, and what has begun is
// carried to its end anyway.
func (c *committer) execArgs(query string, args []any) (driver.Result, error) {
	stmt, err := c.prepareExec(query)
	if err != nil {
		return nil, err
	}
	c.args = c.args[:0]
	for i, arg := range args {
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i+1, err)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: value})
	}
	return stmt.ExecContext(context.Background(), c.args)
}

func (c *committer) prepareExec(query string) (driver.StmtExecContext, error) {
	stmt, ok := c.execs[query]
	if !ok {
		var err error
		if stmt, err = c.below.PrepareContext(context.Background(), query); err != nil {
			return nil, err
		}
		c.execs[query] = stmt
	}
	return stmt.(driver.StmtExecContext), nil
}

func (c *committer) prepareQuery(query string) (*sql.Stmt, error) {
	stmt, ok := c.queries[query]
	if !ok {
		var err error
		if stmt, err = c.conn.PrepareContext(context.Background(), query); err != nil {
			return nil, err
		}
		c.queries[query] = stmt
	}
	return stmt, nil
}

func (c *committer) close() error {
	var errs []error
	for _, stmt := range c.queries {
		errs = append(errs, stmt.Close())
	}
	for _, stmt := range c.execs {
		errs = append(errs, stmt.Close())
	}
	if c.conn != nil {
		errs = append(errs, c.conn.Close())
	}
	if c.pool != nil {
		errs = append(errs, c.pool.Close())
	}
	return errors.Join(errs...)
}
