package manifests

import (
	"fmt"
	"strings"
)

// unit writes unit number i. The probabilities (of a thousand) follow what
// published manifests declare.
func (g *generator) unit(i int) {
	area, kind := place(i)
	if i%sectionLength == 0 {
		g.line("")
		g.line("  # ── %s ──────────────────", area)
	}
	if i%5 == 0 {
		g.line("")
	}
	g.line("  - id: %s", id(i))
	g.line("    path: docs/%s/%s-%d.md", area, kind, i)
	g.intent(area, kind)
	g.line("    scope: %s", g.pick(scopes))
	g.line("    audience: [%s]", g.pick(audiences))
	g.triggers(area)
	g.freshness(i)
	g.description(area)
	g.authority()
	g.size()
	g.payment()
	if g.chance(20) {
		g.skill(area)
	}
	g.last = id(i)
}

func (g *generator) intent(area, kind string) {
	text := fmt.Sprintf("%s %s %s of the %s service", g.pick(questions), g.pick(verbs), g.pick(objects), area)
	switch roll := g.below(1000); {
	case roll < 30:
		g.line("    intent: %s", text) // plain
	case roll < 35: // wrapped as tools write it, the line break escaped
		g.line(`    intent: "%s\`, text)
		g.line(`      \ and when is the %s the right place to look?"`, kind)
	case roll < 130:
		g.line(`    intent: "%s — %s"`, text, g.pick(objects))
	default:
		g.line(`    intent: "%s?"`, text)
	}
}

func (g *generator) triggers(area string) {
	items := []string{area}
	for range 1 + g.below(4) {
		items = append(items, g.pick(triggers))
	}
	if g.chance(15) {
		items = append(items, "429") // a number, as publishers do write
	}
	switch roll := g.below(1000); {
	case roll < 60:
		g.line("    triggers:")
		for _, item := range items {
			g.line(`      - "%s"`, item)
		}
	case roll < 80:
		g.line(`    triggers: ["%s"]`, strings.Join(items, `", "`))
	case roll < 85:
		g.line("    triggers:")
		g.line("      [")
		for _, item := range items {
			g.line("        %s,", item)
		}
		g.line("      ]")
	default:
		g.line("    triggers: [%s]", strings.Join(items, ", "))
	}
}

// freshness writes what ages: dates, dependencies and supersession.
func (g *generator) freshness(i int) {
	switch roll := g.below(1000); {
	case roll < 60:
		g.line("    validated: %s", g.date())
	case roll < 450:
		g.line(`    validated: "%s"`, g.date())
	}
	if i > 0 && g.chance(220) {
		g.line("    depends_on: [%s]", g.earlier(i))
	}
	if g.chance(50) {
		g.line("    temporal:")
		g.line(`      valid_from: "%s"`, g.date())
		if g.chance(500) {
			g.line(`      valid_until: "%s"`, g.date())
		}
		if g.last != "" && g.chance(200) {
			g.line("      superseded_by: %s", g.last)
		}
	}
	if g.chance(10) {
		g.line("    deprecated: true")
	}
}

func (g *generator) description(area string) {
	switch roll := g.below(1000); {
	case roll < 10:
		g.line("    description: |")
		g.line("      What %s %s of %s.", g.pick(verbs), g.pick(objects), area)
		g.line("      Read it before: the %s.", g.pick(objects))
	case roll < 20:
		g.line("    description: >")
		g.line("      Notes on %s of %s,", g.pick(objects), area)
		g.line("      kept by its team.")
	}
}

// authority writes who may load a unit.
func (g *generator) authority() {
	switch roll := g.below(1000); {
	case roll < 15:
		g.line("    access: public")
	case roll < 50:
		g.line("    access: authenticated")
		g.line("    auth_scope: %s:read", g.pick(objects)[:4])
	case roll < 80:
		g.line("    access: restricted")
		g.line("    sensitivity: internal")
	}
	if g.chance(40) {
		g.line("    not_for: [%s]", g.pick(excluded))
	}
}

func (g *generator) size() {
	if g.chance(150) {
		g.line("    size_tokens: %d", 200+g.below(9000))
	}
	if g.chance(20) {
		g.line("    hints: {load_strategy: %s}", g.pick([]string{"eager", "lazy"}))
	}
}

func (g *generator) payment() {
	if !g.chance(20) {
		return
	}
	price := fmt.Sprintf("0.%02d", 1+g.below(60))
	g.line("    payment:")
	g.line("      default_tier: metered")
	g.line("      methods:")
	if g.chance(500) {
		g.line(`        - {type: x402, currency: USDC, price_per_request: "%s", networks: [base]}`, price)
		return
	}
	g.line("        - type: x402")
	g.line("          currency: USDC")
	g.line(`          price_per_request: "%s"`, price)
}

// skill makes the unit a governed procedure.
func (g *generator) skill(area string) {
	g.line("    kind: skill")
	g.line("    load_eligible: %t", g.chance(800))
	g.line("    action_scope:")
	g.line("      tools: [shell, %s-cli]", area)
	g.line("      paths: [deploy/%s/**]", area)
	g.line("      capabilities: [%s]", g.pick(verbs))
	if g.chance(300) {
		g.line("      deny:")
		g.line("        paths: [secrets/**]")
	}
}
