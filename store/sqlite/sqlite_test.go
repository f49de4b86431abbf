package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
	"github.com/writ-dev/writ/store/storetest"
)

func openStore(t testing.TB, path string, o *sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		return openStore(t, filepath.Join(t.TempDir(), "deep", "writ.db"), &sqlite.Options{Now: now})
	})
}

func TestDurable(t *testing.T) {
	storetest.RunDurable(t, func(t *testing.T, dir string, now func() time.Time) store.Store {
		return openStore(t, filepath.Join(dir, "writ.db"), &sqlite.Options{Now: now})
	})
}

// background is for processes that no test ends.
func background() context.Context { return context.Background() }
