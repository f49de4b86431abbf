package policy

import "github.com/writ-dev/writ/artifact"

// EvidenceV1 is one piece of retrieved knowledge.
type EvidenceV1 struct {
	Content     artifact.Value
	ScoreMicros uint32 // millionths; above a million is not refused
	SourceID    string
	Locator     string
	ContentHash string // never verified by version 1
}

// RetrievalResultV1 answers a retrieval query.
type RetrievalResultV1 struct {
	Version  uint16
	Evidence []EvidenceV1
}

// ParseRetrievalResult reads a result.
func ParseRetrievalResult(data []byte, source string) (RetrievalResultV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) RetrievalResultV1 {
		r := RetrievalResultV1{Version: o.Need("version").Uint16()}
		for _, f := range o.Need("evidence").List() {
			e := f.Object()
			piece := EvidenceV1{Content: e.Need("content").Value(), ScoreMicros: e.Need("score_micros").Uint32()}
			from := e.Need("provenance").Object()
			piece.SourceID, piece.Locator, piece.ContentHash = from.Need("source_id").Text(), from.Need("locator").Text(), from.Need("content_hash").Text()
			from.RefuseUnknown()
			e.RefuseUnknown()
			r.Evidence = append(r.Evidence, piece)
		}
		return r
	})
}

// Canonical gives the result's canonical bytes.
func (r RetrievalResultV1) Canonical() []byte {
	evidence := make([]artifact.Value, len(r.Evidence))
	for i, e := range r.Evidence {
		evidence[i] = object(
			artifact.Member{Name: "content", Value: e.Content},
			artifact.Member{Name: "score_micros", Value: artifact.UintValue(uint64(e.ScoreMicros))},
			artifact.Member{Name: "provenance", Value: object(
				artifact.Member{Name: "source_id", Value: artifact.StringValue(e.SourceID)},
				artifact.Member{Name: "locator", Value: artifact.StringValue(e.Locator)},
				artifact.Member{Name: "content_hash", Value: artifact.StringValue(e.ContentHash)},
			)},
		)
	}
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(r.Version))},
		artifact.Member{Name: "evidence", Value: artifact.ArrayValue(evidence...)},
	).AppendCompact(nil)
}

// RetrievalQueryV1 asks for knowledge.
type RetrievalQueryV1 struct {
	Version uint16
	Text    string
	Limit   uint32
}

// ParseRetrievalQuery reads a query.
func ParseRetrievalQuery(data []byte, source string) (RetrievalQueryV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) RetrievalQueryV1 {
		return RetrievalQueryV1{o.Need("version").Uint16(), o.Need("text").Text(), o.Need("limit").Uint32()}
	})
}

// Canonical gives the query's canonical bytes.
func (q RetrievalQueryV1) Canonical() []byte {
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(q.Version))},
		artifact.Member{Name: "text", Value: artifact.StringValue(q.Text)},
		artifact.Member{Name: "limit", Value: artifact.UintValue(uint64(q.Limit))},
	).AppendCompact(nil)
}

// RouteDecisionV1 is a recorded shape that nothing of version 1 produces.
type RouteDecisionV1 struct {
	Version uint16
	Route   string
	Reason  string
}

// ParseRouteDecision reads a route decision.
func ParseRouteDecision(data []byte, source string) (RouteDecisionV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) RouteDecisionV1 {
		return RouteDecisionV1{o.Need("version").Uint16(), o.Need("route").Text(), o.Need("reason").Text()}
	})
}

// Canonical gives the decision's canonical bytes.
func (d RouteDecisionV1) Canonical() []byte {
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(d.Version))},
		artifact.Member{Name: "route", Value: artifact.StringValue(d.Route)},
		artifact.Member{Name: "reason", Value: artifact.StringValue(d.Reason)},
	).AppendCompact(nil)
}

// ContractRefV1 names a contract in use.
type ContractRefV1 struct {
	Version uint16
	ID      string
}

// ParseContractRef reads a contract reference.
func ParseContractRef(data []byte, source string) (ContractRefV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) ContractRefV1 {
		return ContractRefV1{o.Need("version").Uint16(), o.Need("id").Identifier()}
	})
}

// Canonical gives the reference's canonical bytes.
func (c ContractRefV1) Canonical() []byte {
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(c.Version))},
		artifact.Member{Name: "id", Value: artifact.StringValue(c.ID)},
	).AppendCompact(nil)
}

// ControlRequestV1 asks the host for something by the name of a capability.
type ControlRequestV1 struct {
	Version    uint16
	Capability string
	Operation  string
	Payload    artifact.Value
}

// ParseControlRequest reads a control request.
func ParseControlRequest(data []byte, source string) (ControlRequestV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) ControlRequestV1 {
		return ControlRequestV1{
			o.Need("version").Uint16(), o.Need("capability").Identifier(), o.Need("operation").Text(), o.Need("payload").Value(),
		}
	})
}

// Canonical gives the request's canonical bytes.
func (c ControlRequestV1) Canonical() []byte {
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(c.Version))},
		artifact.Member{Name: "capability", Value: artifact.StringValue(c.Capability)},
		artifact.Member{Name: "operation", Value: artifact.StringValue(c.Operation)},
		artifact.Member{Name: "payload", Value: c.Payload},
	).AppendCompact(nil)
}
