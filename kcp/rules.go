package kcp

import "slices"

// RuleText describes one condition that a finding can report.
type RuleText struct {
	Code     string // of the finding
	Severity Severity
	Level    int    // conformance level of the fields concerned, from 1
	Meaning  string // with Markdown
	Mend     string // the usual hint, in the imperative
}

// RuleTexts gives the rules of a set in a fixed order. docs/findings.md lists
// the same.
func RuleTexts(set Rules) []RuleText {
	if set == Agent {
		return slices.Concat(describe(agentHeadRules), describe(agentUnitRules), describe(agentMethodRules),
			describe(agentSuccessorRules), describe(agentRefRules), describe(agentTrustRules))
	}
	return slices.Concat(describe(specRootRules), describe(specServingRules), describe(specTrustRules),
		describe(specUnitRules), describe(specAliasRules), describe(specDetailRules), describe(specHintRules),
		describe(specContentHashRules), describe(specContentStructureRules), describe(specTemporalRules),
		describe(specCycleRules), describe(specPaymentRules), describe(specPaymentMethodRules), describe(specRateLimitRules),
		describe(specIndexingRules), describe(specAuthRules), describe(specDelegationRules), describe(specUnitDelegationRules),
		describe(specComplianceRules), describe(specVisibilityRules), describe(specConditionRules), describe(specAuthorityRules),
		describe(specDiscoveryRules), describe(specUnitDiscoveryRules), describe(specGovernedRules), describe(specPlaybookRules),
		describe(specStepRules), describe(specLevelRules), describe(specCeilingRules), describe(specLinkRules),
		describe(specRefRules), describe(specIdentityRules), describe(specRefTemporalRules), describe(specExternalDependencyRules),
		describe(specExternalLinkRules), describe(specCompositionRules), describe(specCharterRules))
}

func describe[T any](rules []rule[T]) []RuleText {
	list := make([]RuleText, len(rules))
	for i, r := range rules {
		list[i] = RuleText{r.code, r.severity, r.level, r.meaning, r.mend}
	}
	return list
}

// ReadingTexts describes the findings of [Parse]: what was not understood while
// reading. They are warnings; a field that restricts stays closed.
func ReadingTexts() []RuleText { return slices.Clone(readingTexts) }

// ComposingTexts describes the findings of [Compose].
func ComposingTexts() []RuleText { return slices.Clone(composingTexts) }

var composingTexts = []RuleText{
	{"composition-include-failed", Warning, 1, "An include was not read, or is not what its `integrity` declares. Its units are left out.", "correct the source or its integrity, or remove the include"},
	{"composition-include-circular", Error, 1, "An include leads back to a manifest that includes it. Its units are left out.", "remove one of these includes"},
	{"composition-target-missing", Warning, 1, "An override or an exclude names a unit that no include brings. Aliases do not count.", "name the id as it is after the includes, with the prefix of as"},
	{"composition-path-escapes", Warning, 1, "Units of an include are not below the folder of the manifest. They cannot be loaded.", "move the included manifest below the folder of this one"},
	{"composition-attestation", Warning, 2, "An included manifest requires an attestation that the including one does not. Its restricted units are left out.", "declare trust.agent_requirements as the included manifest does"},
	{"composition-unverified", Warning, 2, "Skills and playbooks of an include that nothing verifies lose their grant.", "pin the included manifest with integrity.manifest_hash"},
	{"composition-step-foreign", Warning, 2, "A step of a playbook uses a unit of another manifest, or none. The playbook loses its grant.", "declare the skill in the manifest that declares the playbook"},
}

var readingTexts = []RuleText{
	{"not-text", Warning, 1, "A list or a mapping stands where text is expected.", "write one text, in quotes"},
	{"number-as-text", Warning, 1, "A number stands where text is expected. Without quotes `1.10` reads as 1.1.", "write it in quotes"},
	{"not-a-boolean", Warning, 1, "A word such as `yes` stands where true or false is expected. It grants nothing.", "write true or false, without quotes"},
	{"not-a-number", Warning, 1, "Something else stands where a number is expected. It counts as not declared.", "write digits"},
	{"not-a-list", Warning, 1, "Something else stands where a list is expected. What it grants is not granted, what it restricts stays closed.", "write a list"},
	{"list-of-one", Warning, 1, "One value stands where a list is expected. It is read as a list of one.", "write it as a list: audience: [agent]"},
	{"null-entry", Warning, 1, "An entry of a list is null. It is read as the word null.", "write a text, in quotes, or remove the entry"},
	{"entry-dropped", Warning, 1, "An entry of a list is not what the list holds. It is left out.", "write a mapping, or remove the entry"},
	{"not-a-mapping", Warning, 1, "Something else stands where a mapping is expected. It counts as malformed.", "write the fields of the block"},
	{"unknown-field", Warning, 1, "A key of a unit is unknown and looks like a field. It is ignored.", "write the field it looks like, or give an extension a prefix such as x-"},
	{"findings-left-out", Warning, 1, "There are too many findings; the rest is left out.", "mend these first, then check again"},
}
