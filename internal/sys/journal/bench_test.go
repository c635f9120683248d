package journal_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/loop-daemon/loop/internal/sys/journal"
)

// BenchmarkWrite is what sixteen callers get that each write rows of 2 KB.
func BenchmarkWrite(b *testing.B) {
	db, err := journal.Open(b.Context(), filepath.Join(b.TempDir(), "j.db"), journal.Schema{Name: "blob", Steps: []string{
		"CREATE TABLE blob (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, body BLOB)",
	}})
	if err != nil {
		b.Fatal(err)
	}
	var n atomic.Int64
	body := make([]byte, 2048)
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			key := n.Add(1)
			err := db.Write(b.Context(), func(tx *journal.Tx) error {
				_, err := tx.Exec("INSERT INTO blob (key, body) VALUES (?, ?)", []byte{byte(key), byte(key >> 8), byte(key >> 16)}, body)
				return err
			})
			if err != nil {
				b.Error(err)
			}
		}
	})
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}
