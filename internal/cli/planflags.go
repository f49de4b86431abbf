package cli

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/planner"
)

// planFlags are the flags of every command that plans.
type planFlags struct {
	source sourceFlags

	task, asOf, knownAt, env, maxUnits  given
	role, methods, credentials, attest  given
	budget, currency, contextBudget     given
	grantCeiling                        given
	spendAmount, spendVendor, spendCode given
	tool, path, capability              given
	strict                              bool
}

func (f *planFlags) declare(cmd *cobra.Command) {
	f.task.any = true
	flagGroup{cmd.Flags(), whatToPlan}.value(&f.task, "task", "TEXT", `"deploy a release"`, "the task; otherwise the words of the command line")
	f.declarePlanning(cmd)
}

const whatToPlan = "What to plan"

// declarePlanning declares the flags of a command that has its tasks from
// elsewhere.
func (f *planFlags) declarePlanning(cmd *cobra.Command) {
	what := flagGroup{cmd.Flags(), whatToPlan}
	if cmd.Flags().Lookup("as-of") == nil { // a command may have two of them
		what.value(&f.asOf, "as-of", "DATE", "2026-07-06", "plan as of this date, YYYY-MM-DD (default today, in UTC)")
		what.value(&f.knownAt, "known-at", "DATE", "2025-06-30", "plan with what had been recorded by this date")
	}
	what.value(&f.env, "env", "NAME", "prod", "environment that decides which federated manifests apply")
	what.value(&f.maxUnits, "max-units", "N", "5", "select at most N units (default 5)")
	what.boolean(&f.strict, "strict", "drop units that may not be loaded, instead of listing them")

	who := flagGroup{cmd.Flags(), "Who asks"}
	who.value(&f.role, "role", "ROLE", "agent", "audience role of the agent (default agent)")
	who.value(&f.methods, "methods", "LIST", "free,x402", `payment methods it can use (default free; "" for none)`)
	who.value(&f.credentials, "credentials", "LIST", "api_key,oauth2", "kinds of credentials it holds")
	who.value(&f.attest, "attest", "PROVIDER", "soc.example", "provider of the attestation it can present")

	limits := flagGroup{cmd.Flags(), "Budgets"}
	limits.value(&f.budget, "budget", "AMOUNT", "0.40", "spend at most this on units that are paid by request")
	limits.value(&f.currency, "currency", "CODE", "USDC", "currency of the budget (default USDC)")
	limits.value(&f.contextBudget, "context-budget", "TOKENS", "3000", "load at most this many tokens")

	governed := flagGroup{cmd.Flags(), "Skills and playbooks"}
	governed.value(&f.grantCeiling, "grant-ceiling", "LEVEL", "act-reversible", "authority level that was granted to the agent")
	governed.value(&f.spendAmount, "spend-amount", "AMOUNT", "12.50", "amount of a purchase that the agent proposes")
	governed.value(&f.spendVendor, "spend-vendor", "NAME", "acme", "vendor of that purchase")
	governed.value(&f.spendCode, "spend-currency", "CODE", "EUR", "currency of that purchase")
	governed.value(&f.tool, "action-tool", "NAME", "kubectl", "tool that the agent proposes to use")
	governed.value(&f.path, "action-path", "PATH", "src/main.go", "path that it proposes to touch")
	governed.value(&f.capability, "action-capability", "NAME", "deploy", "capability that it proposes to use")

	f.source.declare(cmd)
	f.source.declareTrust(cmd)
}

// options gives the planner's options. Dates and numbers that do not parse are
// refused: a ceiling that is silently dropped would be no ceiling.
func (f *planFlags) options(r *runner) (planner.Options, error) {
	var o planner.Options
	o.Capabilities = planner.Capabilities{Role: f.role.text, PaymentMethods: f.methods.list(), Credentials: f.credentials.list()}
	if f.attest.text != "" {
		o.Capabilities.AttestationProvider = f.attest.optional()
	}
	o.Env, o.Strict, o.GrantCeiling = f.env.optional(), f.strict, f.grantCeiling.optional()
	o.AsOf = r.today()
	var err error
	if f.asOf.set {
		if o.AsOf, err = f.asOf.date("as-of"); err != nil {
			return o, err
		}
	}
	if f.knownAt.set {
		if o.KnownAt, err = f.knownAt.date("known-at"); err != nil {
			return o, err
		}
	}
	if o.MaxUnits, err = f.maxUnits.count("max-units"); err != nil {
		return o, err
	}
	if o.ContextBudget, err = f.contextBudget.count("context-budget"); err != nil {
		return o, err
	}
	if o.Budget, err = f.money(r); err != nil {
		return o, err
	}
	if o.Spend, err = f.purchase(); err != nil {
		return o, err
	}
	if f.tool.set || f.path.set || f.capability.set {
		o.Action = &planner.Action{Tool: f.tool.optional(), Path: f.path.optional(), Capability: f.capability.optional()}
	}
	return o, nil
}

// today is the date of a plan that names none.
func (r *runner) today() string { return r.Now().UTC().Format("2006-01-02") }

func (f *planFlags) money(r *runner) (*planner.Budget, error) {
	amount, err := f.budget.amount("budget")
	if err != nil {
		return nil, err
	}
	if !amount.Set {
		if f.currency.set {
			r.say("--currency has no effect without --budget")
		}
		return nil, nil
	}
	return &planner.Budget{Amount: amount.Value, Currency: f.currency.optional()}, nil
}

func (f *planFlags) purchase() (*planner.SpendProposal, error) {
	amount, err := f.spendAmount.amount("spend-amount")
	switch {
	case err != nil:
		return nil, err
	case amount.Value < 0 || math.Signbit(amount.Value):
		return nil, badValue("spend-amount", f.spendAmount.text, "is negative", f.spendAmount.example)
	case !f.spendAmount.set && !f.spendVendor.set && !f.spendCode.set:
		return nil, nil
	case !f.spendAmount.set && !f.spendVendor.set:
		return nil, usagef("Name what the agent proposes to buy: --spend-amount 12.50 --spend-vendor acme",
			"--spend-currency without --spend-amount or --spend-vendor proposes nothing")
	}
	return &planner.SpendProposal{Amount: amount, Vendor: f.spendVendor.optional(), Currency: f.spendCode.optional()}, nil
}

// taskOf gives the task: the flag, or else the words of the command line.
func (f *planFlags) taskOf(cmd *cobra.Command, words []string) (string, error) {
	task := strings.Join(words, " ")
	if f.task.set {
		task = f.task.text
	}
	if task == "" {
		return "", usagef(fmt.Sprintf("Write it like %s \"deploy a release\"", cmd.CommandPath()), "the task is missing")
	}
	return task, nil
}

// agent describes the caller for a person.
func agent(c planner.Capabilities) string {
	parts := []string{"role " + c.Role}
	if len(c.PaymentMethods) > 0 {
		parts = append(parts, "pays "+strings.Join(c.PaymentMethods, ", "))
	} else {
		parts = append(parts, "pays nothing")
	}
	if len(c.Credentials) > 0 {
		parts = append(parts, "holds "+strings.Join(c.Credentials, ", "))
	}
	if provider := c.AttestationProvider; provider.Set {
		parts = append(parts, "attested by "+provider.Value)
	}
	return strings.Join(parts, " · ")
}
