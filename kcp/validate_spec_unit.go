package kcp

import (
	"strings"
	"unicode/utf8"
)

// checkUnit runs the rules of one unit.
func checkUnit(c *checker, u *Unit) {
	at := unitPlace(u)
	apply(c, at, specUnitRules, u)
	apply(c, at, specAliasRules, u)
	if t := c.m.TemporalOf(u); t != nil {
		apply(c, at.in("temporal"), specTemporalRules, t)
	}
	if u.Hints != nil {
		apply(c, at.in("hints"), specHintRules, u.Hints)
	}
	own := blocks{payment: u.Payment, rateLimits: u.RateLimits}
	if d := u.Details; d != nil {
		apply(c, at, specDetailRules, d)
		own.indexing, own.auth, own.delegation, own.compliance = d.Indexing, d.Auth, d.Delegation, d.Compliance
		own.visibility, own.authority, own.discovery = d.Visibility, d.Authority, d.Discovery
	}
	checkBlocks(c, at, own)
	if u.ContentHash != nil {
		apply(c, at.in("content_hash"), specContentHashRules, u.ContentHash)
	}
	checkGoverned(c, at, u)
	if u.Details != nil {
		checkUnitDetails(c, at, u)
	}
}

// checkUnitDetails runs the rules of the blocks that only a unit has.
func checkUnitDetails(c *checker, at place, u *Unit) {
	d := u.Details
	if d.Delegation != nil {
		apply(c, at.in("delegation"), specUnitDelegationRules, d.Delegation)
	}
	if d.Discovery != nil {
		apply(c, at.in("discovery"), specUnitDiscoveryRules, d.Discovery)
	}
	if d.ContentStructure != nil {
		apply(c, at.in("content_structure"), specContentStructureRules, d.ContentStructure)
	}
	for i := range d.ExternalDependsOn {
		dependency := &d.ExternalDependsOn[i]
		apply(c, at.item("external_depends_on", dependency.Index), specExternalDependencyRules, dependency)
	}
	if d.Charter != nil {
		apply(c, at.in("charter"), specCharterRules, charterOf{u, d.Charter})
	}
}

var specUnitRules = []rule[*Unit]{
	{
		"unit-id-missing", Error, 1,
		"A unit has no `id`.",
		mendUnitID,
		func(c *checker, u *Unit) { c.required("id", u.ID, "the unit") },
	},
	{
		"unit-path-missing", Error, 1,
		"A unit has no `path`.",
		"write the path of the unit's file, relative to the manifest: path: docs/guide.md",
		func(c *checker, u *Unit) { c.required("path", u.Path, "the unit") },
	},
	{
		"unit-path-absolute", Error, 1,
		"A unit's `path` is absolute or a URL.",
		"write the path relative to the manifest's folder: path: docs/guide.md",
		func(c *checker, u *Unit) {
			if absolutePath(u.Path) {
				c.add("path", "path is "+show(u.Path)+", but a unit lies below the manifest's own folder")
			}
		},
	},
	{
		"unit-path-escapes", Error, 1,
		"A unit's `path` leads out of the manifest's folder by `..`; a `\\` counts as `/`.",
		"move the file below the manifest's folder, and leave .. out of its path",
		func(c *checker, u *Unit) {
			if _, escapes := pathDepth(u.Path); escapes && !absolutePath(u.Path) {
				c.add("path", "path "+show(u.Path)+" leads out of the manifest's folder")
			}
		},
	},
	{
		"unit-path-is-root", Error, 1,
		"A unit's `path` is the manifest's folder itself, such as `.`.",
		"name a file or a folder below the manifest's folder",
		func(c *checker, u *Unit) {
			if depth, escapes := pathDepth(u.Path); u.Path != "" && depth == 0 && !escapes && !absolutePath(u.Path) {
				c.add("path", "path "+show(u.Path)+" is the manifest's own folder")
			}
		},
	},
	{
		"unit-intent-missing", Error, 1,
		"A unit has no `intent`.",
		mendIntent,
		func(c *checker, u *Unit) { c.required("intent", u.Intent, "the unit") },
	},
	{
		"unit-scope-unknown", Error, 1,
		"`scope` is empty or not in the vocabulary. A unit without `scope` is global.",
		"write scope: global, project or module",
		func(c *checker, u *Unit) { c.oneOf("scope", u.Scope, scopes...) },
	},
	{
		"unit-audience-missing", Error, 1,
		"`audience` is missing or empty.",
		mendAudience,
		func(c *checker, u *Unit) {
			if len(u.Audience.Items) == 0 {
				c.add("audience", "the unit does not say whom it serves")
			}
		},
	},
	{
		"unit-id-duplicate", Warning, 1,
		"Two units have one `id`. The first counts; writ makes all of them ineligible.",
		mendDuplicateID,
		func(c *checker, u *Unit) {
			if u.ID != "" && c.unit(u.ID) != u {
				c.add("id", "another unit before this one has the id "+show(u.ID)+" too")
			}
		},
	},
	{
		"unit-id-characters", Warning, 1,
		"An `id` has characters other than `a-z`, `0-9`, `.` and `-`.",
		"use only lower-case letters, digits, dots and hyphens",
		func(c *checker, u *Unit) {
			if u.ID != "" && !plainID(u.ID, ".-") {
				c.add("id", "id "+show(u.ID)+" has characters other than lower-case letters, digits, dots and hyphens")
			}
		},
	},
	{
		"unit-path-not-found", Warning, 1,
		"A unit's `path` names no file or folder. Checked for local manifests only.",
		mendPathNotFound,
		func(c *checker, u *Unit) {
			if c.pathMissing(u) {
				c.add("path", "there is no file "+show(u.Path)+" beside the manifest")
			}
		},
	},
	{
		"unit-audience-unknown", Warning, 1,
		"An entry of `audience` is not in the vocabulary.",
		"use human, agent, developer, architect, operator or devops",
		func(c *checker, u *Unit) { c.eachOf("audience", u.Audience, audiences...) },
	},
	{
		"unit-kind-unknown", Warning, 2,
		"`kind` is not in the vocabulary; agents read the unit as plain knowledge.",
		mendKind,
		func(c *checker, u *Unit) { c.oneOf("kind", u.Kind, kinds...) },
	},
	{
		"unit-access-unknown", Warning, 2,
		"`access` is not in the vocabulary; agents treat the unit as restricted.",
		mendAccess,
		func(c *checker, u *Unit) { c.oneOf("access", u.Access, accessLevels...) },
	},
	{
		"unit-auth-scope-unused", Warning, 2,
		"`auth_scope` stands without `access: restricted`.",
		"write access: restricted, or remove auth_scope",
		func(c *checker, u *Unit) {
			if u.AuthScope.Value != "" && u.Access.Value != "restricted" {
				c.add("auth_scope", "auth_scope has no effect, because the unit is not restricted")
			}
		},
	},
	{
		"unit-sensitivity-unknown", Warning, 2,
		"`sensitivity` is not in the vocabulary.",
		"write sensitivity: public, internal, confidential or restricted",
		func(c *checker, u *Unit) { c.oneOf("sensitivity", u.Sensitivity, sensitivities...) },
	},
	{
		"unit-depends-on-unknown", Warning, 2,
		"`depends_on` names a unit that the manifest does not declare. Aliases do not count.",
		"name the id of a unit that this manifest declares; for another manifest's unit use external_depends_on",
		func(c *checker, u *Unit) {
			for i, id := range u.DependsOn.Items {
				c.knownUnit(element("depends_on", i), id)
			}
		},
	},
	{
		"unit-not-for-strict-alone", Warning, 2,
		"`not_for_strict` is declared without `not_for`.",
		"list what the unit is not for, or remove not_for_strict",
		func(c *checker, u *Unit) {
			if u.NotForStrict.Declared && len(u.NotFor.Items) == 0 {
				c.add("not_for_strict", "not_for_strict has no effect, because not_for is empty")
			}
		},
	},
	{
		"unit-deprecated-without-successor", Warning, 2,
		"A unit is deprecated, and nothing supersedes it.",
		"declare supersedes: <this id> on the unit that takes its place",
		func(c *checker, u *Unit) {
			if u.Deprecated.Grants() && !c.superseded[u.ID] {
				c.add("deprecated", "the unit is deprecated, but no unit says that it takes its place")
			}
		},
	},
	{
		"trigger-too-long", Warning, 3,
		"A trigger has more than 60 characters; agents cut it.",
		"shorten the trigger to a word or a short phrase",
		func(c *checker, u *Unit) {
			for i, trigger := range u.Triggers.Items {
				if len(trigger) > maxTriggerRunes && utf8.RuneCountInString(trigger) > maxTriggerRunes {
					c.add(element("triggers", i), "trigger "+show(trigger)+" is longer than 60 characters")
				}
			}
		},
	},
	{
		"triggers-too-many", Warning, 3,
		"A unit has more than 20 triggers; agents ignore the rest.",
		"keep the twenty triggers that matter most",
		func(c *checker, u *Unit) {
			if len(u.Triggers.Items) > maxTriggers {
				c.add(element("triggers", maxTriggers), "the unit has more than 20 triggers, and agents stop reading here")
			}
		},
	},
}

// absolutePath reports whether path is absolute on some system or a URL.
func absolutePath(path string) bool {
	scheme, rest, ok := cutScheme(path)
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\`) ||
		ok && (len(scheme) == 1 || strings.HasPrefix(rest, "//"))
}

// pathDepth walks path with both slashes as separators. It gives the number of
// folders below the start, and whether the walk ever left it.
func pathDepth(path string) (depth int, escapes bool) {
	for segment := range strings.SplitSeq(strings.ReplaceAll(path, `\`, "/"), "/") {
		switch segment {
		case "", ".":
		case "..":
			depth--
			escapes = escapes || depth < 0
		default:
			depth++
		}
	}
	return depth, escapes
}

// pathMissing reports whether a usable path is known to name nothing.
func (c *checker) pathMissing(u *Unit) bool {
	return c.o.Exists != nil && SafeUnitPath(u.Path) == "" && !c.o.Exists(u.Path)
}

// plainID reports whether id has only lower-case letters, digits and the extra
// characters.
func plainID(id, extra string) bool {
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.Contains(extra, string(rune(c))) {
			return false
		}
	}
	return true
}

var specAliasRules = []rule[*Unit]{
	{
		"alias-characters", Warning, 1,
		"An alias does not match `^[a-z0-9][a-z0-9._-]*$`.",
		"start the alias with a letter or a digit, and use lower-case letters, digits, dots, underscores and hyphens",
		func(c *checker, u *Unit) {
			for i, alias := range u.Aliases.Items {
				if alias == "" || !plainID(alias, "._-") || !plainID(alias[:1], "") {
					c.add(element("aliases", i), "alias "+show(alias)+" has characters that an alias cannot have")
				}
			}
		},
	},
	{
		"alias-duplicate", Warning, 1,
		"An alias is also an id, or an alias of another unit, or stands twice. An id beats an alias; among aliases the first counts.",
		"choose another alias",
		func(c *checker, u *Unit) {
			seen := map[string]bool{}
			for i, alias := range u.Aliases.Items {
				if c.unit(alias) != nil || &c.m.Units[c.aliasAt[alias]] != u || seen[alias] {
					c.add(element("aliases", i), "alias "+show(alias)+" is taken by an id or by an earlier alias")
				}
				seen[alias] = true
			}
		},
	},
	{
		"aliases-too-many", Warning, 1,
		"A unit has more than 100 aliases.",
		"keep at most a hundred aliases",
		func(c *checker, u *Unit) {
			if len(u.Aliases.Items) > maxAliases {
				c.add(element("aliases", maxAliases), "the unit has more than 100 aliases")
			}
		},
	},
}

var specDetailRules = []rule[*Details]{
	{
		"unit-format-unknown", Warning, 2,
		"`format` is not in the vocabulary.",
		"use a known format such as markdown, or describe the file with content_type",
		func(c *checker, d *Details) { c.oneOf("format", d.Format, unitFormats...) },
	},
	{
		"unit-validated-malformed", Warning, 2,
		"`validated` is not a date.",
		mendDate,
		func(c *checker, d *Details) { c.day("validated", d.Validated) },
	},
	{
		"unit-update-frequency-unknown", Warning, 3,
		"`update_frequency` is not in the vocabulary.",
		"write update_frequency: hourly, daily, weekly, monthly, rarely or never",
		func(c *checker, d *Details) { c.oneOf("update_frequency", d.UpdateFrequency, frequencies...) },
	},
}

var specHintRules = []rule[*Hints]{
	{
		"hint-summary-unit-missing", Warning, 2,
		"`summary_available` is true, and `summary_unit` is missing.",
		"name the unit that holds the summary: summary_unit: <unit id>",
		func(c *checker, h *Hints) {
			if h.SummaryAvailable.Grants() && h.SummaryUnit.Value == "" {
				c.add("summary_unit", "a summary is promised, but nothing says which unit it is")
			}
		},
	},
	{
		"hint-summary-unit-unknown", Warning, 2,
		"`summary_unit` names no unit of the manifest.",
		"name the id of a unit that this manifest declares",
		func(c *checker, h *Hints) { c.knownUnit("summary_unit", h.SummaryUnit.Value) },
	},
	{
		"hint-summary-of-unannounced", Warning, 3,
		"`summary_of` names a unit that does not say `summary_available: true`.",
		"write summary_available: true and summary_unit on the unit that is summarised",
		func(c *checker, h *Hints) {
			id := h.SummaryOf.Value
			if id == "" {
				return
			}
			if u := c.unit(id); u == nil || u.Hints == nil || !u.Hints.SummaryAvailable.Grants() {
				c.add("summary_of", "unit "+show(id)+" does not announce that it has a summary")
			}
		},
	},
	{
		"hint-chunk-of-unknown", Warning, 3,
		"`chunk_of` names no unit of the manifest.",
		"name the id of the unit that this is a chunk of",
		func(c *checker, h *Hints) { c.knownUnit("chunk_of", h.ChunkOf.Value) },
	},
	{
		"hint-chunk-index-alone", Warning, 3,
		"`chunk_index` stands without `chunk_of`.",
		"name the unit that this is a chunk of: chunk_of: <unit id>",
		func(c *checker, h *Hints) {
			if h.ChunkIndex.Set && h.ChunkOf.Value == "" {
				c.add("chunk_index", "the unit has a chunk number, but nothing says of which unit it is a chunk")
			}
		},
	},
	{
		"hint-chunk-index-range", Warning, 3,
		"`chunk_index` is greater than `total_chunks`.",
		"number the chunks from 1 to total_chunks",
		func(c *checker, h *Hints) {
			if h.ChunkIndex.Set && h.TotalChunks.Set && h.ChunkIndex.Value > h.TotalChunks.Value {
				c.add("chunk_index", "the chunk number is greater than the number of chunks")
			}
		},
	},
}
