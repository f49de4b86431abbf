package manifests

// The vocabulary. Changing a list changes every generated manifest, and with
// it what earlier measurements measured.
var (
	areas = []string{
		"billing", "search", "identity", "catalog", "shipping", "payments", "reports", "gateway",
		"metrics", "storage", "mailer", "scheduler", "console", "ledger", "support", "onboarding",
	}
	kinds = []string{
		"guide", "runbook", "reference", "policy", "overview", "howto", "decision", "faq",
		"checklist", "tutorial", "schema",
	}
	scopes    = []string{"global", "project", "module"}
	audiences = []string{
		"human, agent", "agent", "agent, developer", "human", "developer, architect, agent",
		"human, agent, operator", "operator, agent",
	}
	excluded  = []string{"production", "intern", "human", "contractor, partner"}
	questions = []string{"How do I", "How does one", "When should I", "Who may", "Why would I", "What does it take to"}
	verbs     = []string{
		"deploy", "roll back", "configure", "monitor", "restore", "migrate", "test", "scale",
		"debug", "rotate", "review", "retire",
	}
	objects = []string{
		"releases", "credentials", "database", "backups", "quotas", "alerts", "webhooks", "invoices",
		"permissions", "indexes", "certificates", "feature flags", "rate limits", "queues", "dashboards",
	}
	triggers = []string{
		"deploy", "release", "rollback", "incident", "on-call", "latency", "error budget", "quota",
		"rate limit", "token", "oauth2", "certificate", "backup", "restore", "migration", "schema",
		"index", "cache", "queue", "retry", "timeout", "webhook", "invoice", "refund", "tax",
		"gdpr", "audit", "retention", "access control", "role", "permission", "single sign-on",
		"feature flag", "canary", "load test", "dashboard", "alert", "pager", "postmortem", "runbook",
		"api", "grpc", "http/2", "kubernetes", "terraform", "docker", "ci/cd", "architecture",
		"dependency", "upgrade",
	}
)
