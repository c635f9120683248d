package journal

import (
	"database/sql"
	"errors"
	"fmt"
)

// Schema is what one store keeps in the journal: the statements that make its tables, step by step. A step that was
// released is never changed; what comes later is a further step. Steps that were carried out are counted under the name.
type Schema struct {
	Name  string
	Steps []string
}

// migrate carries out the steps that the journal has not seen: all of them or none.
func (db *DB) migrate(schemas []Schema) error {
	w := &write{do: func(tx *Tx) error {
		_, err := tx.Exec("CREATE TABLE IF NOT EXISTS journal_schema (name TEXT PRIMARY KEY, steps INTEGER NOT NULL) STRICT")
		if err != nil {
			return err
		}
		for _, schema := range schemas {
			if err := schema.apply(tx, db.path); err != nil {
				return err
			}
		}
		return nil
	}}
	db.commit([]*write{w})
	return w.err
}

func (s Schema) apply(tx *Tx, path string) error {
	var done int
	err := tx.QueryRow("SELECT steps FROM journal_schema WHERE name = ?", s.Name).Scan(&done)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if done > len(s.Steps) {
		return fmt.Errorf("journal %s: %w: its %s tables are at step %d, this program knows %d; start the newer version, "+
			"or move the journal aside together with its -wal and -shm files", path, ErrNewer, s.Name, done, len(s.Steps))
	}
	if done == len(s.Steps) {
		return nil
	}
	for i, step := range s.Steps[done:] {
		if _, err := tx.Exec(step); err != nil {
			return fmt.Errorf("journal %s: step %d of the %s tables: %w", path, done+i+1, s.Name, err)
		}
	}
	_, err = tx.Exec("INSERT INTO journal_schema (name, steps) VALUES (?, ?) "+
		"ON CONFLICT (name) DO UPDATE SET steps = excluded.steps", s.Name, len(s.Steps))
	return err
}
