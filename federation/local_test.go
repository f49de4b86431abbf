package federation_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/federation"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
)

// files writes manifests below a fresh directory and goes there.
func files(t *testing.T, pages map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range pages {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

func localOptions() federation.Options {
	return federation.Options{MaxDepth: 5, Plan: planner.Options{AsOf: "2026-07-06"}}
}

// locations lists where the nodes of a tree were found.
func locations(tree *federation.Node) []string {
	var list []string
	for _, n := range tree.All() {
		list = append(list, n.Location)
	}
	return list
}

// TestDirectoryReferences recognises a manifest that is named by its directory,
// by its file and through a link, in a cycle and in a diamond.
func TestDirectoryReferences(t *testing.T) {
	dir := files(t, map[string]string{
		"hub/knowledge.yaml":           page("hub", "", "{id: a, url: ../a}", "{id: b, url: ../b/knowledge.yaml}", "{id: b2, url: ../b/}", "{id: link, url: ../link}"),
		"a/.well-known/knowledge.yaml": page("a", "", "{id: b, url: ../../b}", "{id: self, url: ..}", "{id: top, url: ../../hub}"),
		"b/knowledge.yaml":             page("b", ""),
	})
	if err := os.Symlink("b", "link"); err != nil {
		t.Skip(err)
	}
	for _, root := range []string{"hub", "hub/knowledge.yaml", filepath.Join(dir, "hub")} {
		tree, _ := walked(t, localOptions(), root)
		base := strings.TrimSuffix(tree.Location, "hub/knowledge.yaml")
		want := []string{base + "hub/knowledge.yaml", base + "a/.well-known/knowledge.yaml", base + "b/knowledge.yaml"}
		if got := locations(tree); !slices.Equal(got, want) {
			t.Errorf("%s: %q", root, got)
		}
		want = []string{"not: b already visited (cycle)", "not: b2 already visited (cycle)", "not: link already visited (cycle)", "a"}
		if got := decisions(tree); !slices.Equal(got, want) {
			t.Errorf("%s: %q", root, got)
		}
	}
}

// TestMirrors uses the mirror of a local manifest where it exists, below the
// root, and verifies it like any other.
func TestMirrors(t *testing.T) {
	files(t, map[string]string{
		"hub/knowledge.yaml": page("hub", "",
			"{id: there, url: 'https://w.test/there', local_mirror: mirrors/there.yaml}",
			"{id: folder, url: 'https://w.test/folder', local_mirror: mirrors/folder}",
			"{id: missing, url: 'https://w.test/missing', local_mirror: mirrors/none.yaml}",
			"{id: out, url: 'https://w.test/out', local_mirror: ../../out.yaml}",
			"{id: out2, url: 'https://w.test/out2', local_mirror: /etc/hosts}",
			"{id: sealed, url: 'https://w.test/sealed', local_mirror: mirrors/sealed.yaml}"),
		"hub/mirrors/there.yaml":            page("there", ""),
		"hub/mirrors/folder/knowledge.yaml": page("folder", "", "{id: remote, url: 'https://w.test/there'}"),
		"hub/mirrors/sealed.yaml":           signed(page("sealed", "")) + "# changed since\n",
	})
	w := newWorld()
	o := localOptions()
	o.Open = onlyRemote(w)
	tree, _ := walked(t, o, "hub")
	want := []string{"hub/knowledge.yaml", "hub/mirrors/there.yaml", "hub/mirrors/folder/knowledge.yaml", "https://w.test/there",
		"https://w.test/missing", "https://w.test/out", "https://w.test/out2", "hub/mirrors/sealed.yaml"}
	if got := locations(tree); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	var codes []string
	for _, f := range tree.Findings {
		codes = append(codes, f.Code)
	}
	if !slices.Equal(codes, []string{"mirror-outside-root", "mirror-outside-root"}) {
		t.Errorf("findings %q", codes)
	}
	last := tree.Children[5]
	if last.Error != "signature invalid: ed25519 signature does not match manifest bytes" || last.Signature.Status != kcp.Invalid {
		t.Errorf("a mirror with a wrong signature: %q, %+v", last.Error, last.Signature)
	}
}

// TestRemoteHubReadsNoFiles lets neither a mirror nor a url of a remote manifest
// reach a file.
func TestRemoteHubReadsNoFiles(t *testing.T) {
	dir := files(t, map[string]string{"secret.yaml": page("secret", ""), "mirror.yaml": page("mirror", "")})
	w := newWorld()
	w.pages[host+"hub"] = page("hub", "", "{id: a, url: a, local_mirror: mirror.yaml}", "{id: b, url: 'file://"+dir+"/secret.yaml'}",
		"{id: c, url: "+dir+"/secret.yaml}", "{id: d, url: '../../secret.yaml'}", "{id: e, url: 'HTTPS://w.test/e'}", "{id: f, url: 'data:text/yaml,x'}")
	o := localOptions()
	o.Open = onlyRemote(w)
	tree, _ := walked(t, o, host+"hub")
	for _, n := range tree.Children {
		if n.Plan != nil {
			t.Errorf("%s was read", n.Location)
		}
	}
	for _, line := range w.requests() {
		if !strings.HasPrefix(line, host) {
			t.Errorf("asked for %s", line)
		}
	}
}

// TestLocalRoot keeps references below the root directory: the current one, that
// of the root manifest, or the one that was named.
func TestLocalRoot(t *testing.T) {
	dir := files(t, map[string]string{
		"org/hub/knowledge.yaml": page("hub", "", "{id: peer, url: ../peer.yaml}", "{id: out, url: ../../out.yaml}", "{id: far, url: /etc/hosts}"),
		"org/peer.yaml":          page("peer", ""),
		"out.yaml":               page("out", ""),
	})
	outcome := func(root, location string) []string {
		o := localOptions()
		o.Load = load.Options{Root: root}
		tree, _ := walked(t, o, location)
		var read []string
		for _, child := range tree.Children {
			switch {
			case child.Plan != nil:
				read = append(read, child.RefID.Value)
			case !strings.Contains(child.Error, "outside"):
				t.Errorf("%s: %s", child.Location, child.Error)
			}
		}
		return read
	}
	t.Run("current directory", func(t *testing.T) {
		if got := outcome("", "org/hub"); !slices.Equal(got, []string{"peer", "out"}) {
			t.Errorf("read %q", got)
		}
	})
	t.Run("named directory", func(t *testing.T) {
		if got := outcome("org", "org/hub"); !slices.Equal(got, []string{"peer"}) {
			t.Errorf("read %q", got)
		}
	})
	t.Run("the manifest's own", func(t *testing.T) {
		t.Chdir(t.TempDir())
		if got := outcome("", filepath.Join(dir, "org", "hub")); len(got) != 0 {
			t.Errorf("read %q", got)
		}
	})
}

// TestContract repeats the walk that the contract records: a mirror, a cycle, a
// missing child, and a ref by directory that is recognised here.
func TestContract(t *testing.T) {
	files(t, map[string]string{
		"knowledge.yaml":   page("top", "0.4", "{id: b, url: 'https://w.test/b', local_mirror: b}", "{id: b2, url: b/knowledge.yaml}", "{id: b3, url: b}", "{id: none, url: none.yaml}"),
		"b/knowledge.yaml": page("b", "0.2", "{id: up, url: ../knowledge.yaml}"),
	})
	o := localOptions()
	o.Plan.Capabilities.PaymentMethods = []string{"x402"}
	o.Plan.Budget = &planner.Budget{Amount: 1}
	tree, _ := walked(t, o, ".")
	want := []string{"not: b2 already visited (cycle)", "not: b3 already visited (cycle)", "b", "none fetch failed: manifest not found: none.yaml"}
	if got := decisions(tree); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if note := tree.Children[0].Plan.Budget.Note; !strings.Contains(note, "(+0.4 committed upstream)") {
		t.Error(note)
	}
}
