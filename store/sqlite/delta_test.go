package sqlite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestDifference(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 1<<16)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	edited := bytes.Clone(noise)
	copy(edited[1000:], "changed")
	shifted := append([]byte("revision 7"), noise...)
	shifted = append(shifted, "steps 7"...)
	for name, c := range map[string]struct {
		source, target []byte
		most           int
	}{
		"both empty":     {nil, nil, 0},
		"target empty":   {noise, nil, 0},
		"source empty":   {nil, []byte("abc"), 4},
		"equal":          {noise, noise, 8},
		"short":          {[]byte("abc"), []byte("abd"), 4},
		"edited":         {noise, edited, 100},
		"shifted":        {noise, shifted, 60},
		"half":           {noise, noise[1<<15:], 60},
		"twice":          {noise, append(bytes.Clone(noise), noise...), 60},
		"swapped halves": {noise, append(bytes.Clone(noise[1<<15:]), noise[:1<<15]...), 100},
		"all the same":   {bytes.Repeat([]byte("a"), 5000), bytes.Repeat([]byte("a"), 9000), 100},
		"nothing common": {bytes.Repeat([]byte("a"), 5000), noise[:5000], 5100},
	} {
		d := difference(c.source, c.target)
		if len(d) > c.most {
			t.Errorf("%s: %d bytes, want at most %d", name, len(d), c.most)
		}
		got, err := apply(c.source, d, len(c.target))
		if err != nil || !bytes.Equal(got, c.target) {
			t.Errorf("%s: gives %d bytes, %v", name, len(got), err)
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	source := []byte("0123456789")
	for name, c := range map[string]struct {
		instructions []byte
		size         int
	}{
		"too few":           {[]byte{5<<1 | 1, 'a', 'b', 'c', 'd', 'e'}, 6},
		"too many":          {[]byte{5<<1 | 1, 'a', 'b', 'c', 'd', 'e'}, 4},
		"text cut":          {[]byte{5<<1 | 1, 'a'}, 5},
		"beyond the source": {[]byte{5 << 1, 6}, 5},
		"far beyond":        {[]byte{5 << 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 5},
		"no offset":         {[]byte{5 << 1}, 5},
		"endless number":    {bytes.Repeat([]byte{0xff}, 11), 5},
	} {
		if got, err := apply(source, c.instructions, c.size); err == nil {
			t.Errorf("%s: gives %q", name, got)
		}
	}
}

func FuzzDifference(f *testing.F) {
	f.Add([]byte(strings.Repeat("state", 50)), []byte(strings.Repeat("state", 40)+"x"+strings.Repeat("state", 30)))
	f.Add([]byte{}, []byte("x"))
	f.Fuzz(func(t *testing.T, source, target []byte) {
		d := difference(source, target)
		if got, err := apply(source, d, len(target)); err != nil || !bytes.Equal(got, target) {
			t.Fatalf("gives %q, %v; want %q", got, err, target)
		}
		// Any bytes as instructions: an error or a text of the size asked for.
		if got, err := apply(source, target, 100); err == nil && len(got) != 100 {
			t.Fatalf("gives %d bytes", len(got))
		}
	})
}

// BenchmarkDifference is one step of a run with 1 MiB of state of which 1 KiB
// changes.
func BenchmarkDifference(b *testing.B) {
	random := rand.New(rand.NewPCG(5, 6))
	state := make([]byte, 1<<20)
	for i := range state {
		state[i] = 'a' + byte(random.UintN(26))
	}
	next := append(fmt.Appendf(nil, "revision %d", 12345), state...)
	for i := range 1024 {
		next[1<<19+i] ^= 1
	}
	b.SetBytes(1 << 20)
	for b.Loop() {
		difference(state, next)
	}
}

func TestSnapshotCache(t *testing.T) {
	c := newSnapshotCache(100)
	text := bytes.Repeat([]byte("x"), 30)
	c.put("a", kept{seq: 1, rank: 5, bytes: text})
	if _, ok := c.get("a"); ok {
		t.Error("a history without its group is kept")
	}
	for i, exec := range []string{"a", "b"} {
		c.put(exec, kept{seq: uint64(i + 1), bytes: text}) // twice 30 bytes: newest and group
	}
	if _, ok := c.get("a"); ok || c.size != 60 {
		t.Errorf("%d bytes are kept, the oldest among them: %t", c.size, ok)
	}
	c.put("b", kept{seq: 9, rank: 1, bytes: text[:10]})
	h, ok := c.get("b")
	if !ok || h.last.seq != 9 || h.group.seq != 2 || c.size != 40 {
		t.Errorf("%+v, %d bytes", h, c.size)
	}
	c.fill("b", history{last: kept{seq: 3, bytes: text}})
	if h, _ := c.get("b"); h.last.seq != 9 {
		t.Error("what was read replaced what is newer")
	}
	c.drop("b")
	c.drop("b")
	if c.size != 0 || c.order.Len() != 0 || len(c.runs) != 0 {
		t.Errorf("%d bytes, %d histories left", c.size, c.order.Len())
	}
}
