package cli

import "testing"

// A replay and the completion of a word dial nothing that a file includes.
func TestLocalReadingHasNoNetwork(t *testing.T) {
	r := &runner{}
	for _, local := range []bool{false, true} {
		f := sourceFlags{local: local}
		o, err := f.reading(r)
		if err != nil {
			t.Fatal(err)
		}
		if (o.Fetch == nil) != local {
			t.Errorf("local %v: a client for the network %v", local, o.Fetch)
		}
	}
}
