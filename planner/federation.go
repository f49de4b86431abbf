package planner

import (
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// decideRefs says which federated manifests belong to the caller's environment
// and which credential each needs. Nothing is fetched.
func decideRefs(m *kcp.Manifest, o Options) []RefDecision {
	list := make([]RefDecision, 0, len(m.Manifests))
	for i := range m.Manifests {
		list = append(list, decideRef(&m.Manifests[i], o))
	}
	return list
}

func decideRef(ref *kcp.Ref, o Options) RefDecision {
	d := RefDecision{ID: ref.ID, URL: ref.URL, LocalMirror: ref.LocalMirror.Value}
	context := ref.Context
	unreadable := context.Malformed || ref.AgentIdentity != nil && ref.AgentIdentity.Malformed
	d.Selected = !unreadable &&
		(!context.Declared || o.Env.Set && slices.Contains(context.Items, o.Env.Value))
	if identity := ref.AgentIdentity; identity != nil {
		hint := identity.CredentialHint.Value
		if identity.Required.Restricts() && hint != "" && !slices.Contains(o.Capabilities.Credentials, hint) {
			d.CredentialNeeded = hint
		}
		d.DocsURL = identity.DocsURL
	}
	switch {
	case context.Malformed:
		d.Reason = closed("context", "is not a list of environments")
	case unreadable:
		d.Reason = closed("agent_identity", "is not a mapping")
	case !d.Selected && o.Env.Set:
		d.Reason = "context " + artifact.StringList(context.Items) + " excludes env '" + o.Env.Value + "'"
	case !d.Selected:
		d.Reason = "context " + artifact.StringList(context.Items) + " requires a declared env; none given (fail-closed)"
	case d.CredentialNeeded != "":
		d.Reason = "needs " + d.CredentialNeeded + " before fetch"
	default:
		d.Reason = "eligible"
	}
	return d
}
