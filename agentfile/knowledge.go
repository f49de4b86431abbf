package agentfile

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/keys"
	"github.com/writ-dev/writ/planner"
	"github.com/writ-dev/writ/policy"
)

// Knowledge is what a retrieve node plans over; see package retrieve.
type Knowledge struct {
	Capability string // that the pack must grant
	Namespace  string // that it belongs to

	Manifest     string // as the file and the pack name it
	Path         string // of the manifest's file or folder; "" for a URL
	Root         string // the folder that it and all that it names must be below
	Line, Column int    // where the file names it

	Offline          bool // nothing is read over the network
	PrivateHosts     bool // the network is also this machine's and private ones
	RequireSignature bool
	TrustKey         string // the text of the only key that may vouch; "" for that of the manifest

	Plan     planner.Options // who asks, and with which ceilings
	MaxBytes uint64          // of a result; 0 for the port's own bound
}

func (l *loader) readKnowledge(f artifact.Field) map[string]Knowledge {
	known := map[string]Knowledge{}
	if !f.Present() {
		return known
	}
	for name, field := range f.Map() {
		o := field.Object()
		k := Knowledge{
			Capability: o.May("capability").Text(), Namespace: o.May("namespace").Text(), Root: l.dir,
			Offline: o.May("offline").Bool(), PrivateHosts: o.May("private_hosts").Bool(),
			RequireSignature: o.May("require_signature").Bool(), TrustKey: l.readKey(o.May("trust_key")),
			Plan: readPlan(o), MaxBytes: o.May("max_bytes").Uint64(),
		}
		if root := o.May("root"); root.Present() {
			k.Root = l.resolve(root)
		}
		l.readManifest(o.Need("manifest"), &k)
		o.RefuseUnknown()
		known[name] = k
	}
	return known
}

// readManifest reads where a manifest is: at a URL, or below the root.
func (l *loader) readManifest(f artifact.Field, k *Knowledge) {
	k.Manifest = f.Text()
	k.Line, k.Column = l.doc.Position(f.Pointer())
	switch {
	case !f.Present():
	case strings.HasPrefix(k.Manifest, "http://") && !k.PrivateHosts:
		f.Report("%s: public hosts are read over https only", k.Manifest)
	case isURL(k.Manifest):
		if k.Offline {
			f.Report("%s is on the network, and offline is set", k.Manifest)
		}
	default:
		if k.Path = l.resolve(f); k.Path == "" {
			return
		}
		rel, err := filepath.Rel(k.Root, k.Path)
		if err == nil && !filepath.IsLocal(rel) {
			bound := "the agent file's folder"
			if k.Root != l.dir {
				bound = k.Root
			}
			f.Report("%s is outside of %s, below which it is read; set root to a folder that has it", k.Manifest, bound)
			return
		}
		if l.o.Exists != nil && !l.o.Exists(k.Path) {
			f.Report("%s: there is no such file", k.Manifest)
		}
	}
}

func isURL(location string) bool {
	return strings.HasPrefix(location, "https://") || strings.HasPrefix(location, "http://")
}

// readKey reads an ed25519 public key, or the name of a file with one. The file is
// kept with the agent, so that nobody trades the key while a run waits.
func (l *loader) readKey(f artifact.Field) string {
	text := f.Text()
	if text == "" {
		return ""
	}
	if _, err := keys.ParsePublic(text); err == nil {
		return text
	}
	name := l.resolve(f)
	if name == "" {
		return ""
	}
	data, err := l.file(name, maxKeyBytes)
	if err != nil {
		f.Report("write an ed25519 public key, or the name of a file with one: %s", err)
		return ""
	}
	if _, err := keys.ParsePublic(string(data)); err != nil {
		f.Report("%s: %s", name, err)
	}
	return string(data)
}

// maxKeyBytes bounds the file of a public key.
const maxKeyBytes = 64 << 10

// readPlan reads who asks and what a plan may select, load and spend.
func readPlan(o *artifact.Object) planner.Options {
	p := planner.Options{
		Capabilities: planner.Capabilities{Role: o.May("role").Text()},
		Strict:       o.May("strict").Bool(), AsOf: readDate(o.May("as_of")), KnownAt: readDate(o.May("known_at")),
		MaxUnits: readCount(o.May("max_units")), ContextBudget: readCount(o.May("context_budget")),
	}
	if methods := o.May("methods"); methods.Present() {
		p.Capabilities.PaymentMethods = methods.Set()
	}
	if credentials := o.May("credentials"); credentials.Present() {
		p.Capabilities.Credentials = credentials.Set()
	}
	p.Capabilities.AttestationProvider = readText(o.May("attestation"))
	p.GrantCeiling = readText(o.May("grant_ceiling"))
	budget := o.May("budget")
	if budget.Present() {
		x := budget.Object()
		currency := x.May("currency")
		p.Budget = &planner.Budget{Amount: readMoney(x.Need("amount")), Currency: readText(currency)}
		if c := p.Budget.Currency; c.Set && !policy.IsCurrency(c.Value) {
			currency.Report("currency %.40q: write 2 to 12 upper-case letters and digits, such as USDC", c.Value)
		}
		x.RefuseUnknown()
	} else if slices.Contains(p.Capabilities.PaymentMethods, "x402") {
		o.May("methods").Report("whoever pays by request needs a budget: write budget: {amount: 0.40, currency: USDC}")
	}
	return p
}

func readText(f artifact.Field) kcp.String {
	return kcp.String{Value: f.Text(), Set: f.Present()}
}

func readDate(f artifact.Field) string {
	date := f.Text()
	if date != "" && !kcp.ValidDate(date) {
		f.Report("%q is not a date; write one like 2026-07-06", date)
	}
	return date
}

// readCount reads a whole number of at least 1.
func readCount(f artifact.Field) kcp.Number {
	if !f.Present() {
		return kcp.Number{}
	}
	n := f.Uint64()
	if f.Kind() == artifact.KindNumber && n == 0 {
		f.Report("write a whole number of at least 1")
	}
	return kcp.Number{Value: float64(n), Set: true}
}

// readMoney reads an amount in units of a currency.
func readMoney(f artifact.Field) float64 {
	amount, ok := f.Value().Float()
	if f.Present() && (f.Kind() != artifact.KindNumber || !ok || amount < 0 || amount > 1e9) {
		f.Report("write an amount of money, such as 0.40, of at most a billion")
	}
	return amount
}
