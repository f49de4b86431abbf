package memory_test

import (
	"testing"
	"time"

	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/memory"
	"github.com/writ-dev/writ/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, now func() time.Time) store.Store { return memory.New(now) })
}
