package policy

import "github.com/writ-dev/writ/artifact"

// ParseToolDefinition reads a tool definition.
func ParseToolDefinition(data []byte, source string) (ToolDefinitionV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) ToolDefinitionV1 {
		return ToolDefinitionV1{
			Version: o.Need("version").Uint16(), ID: o.Need("id").Identifier(), Namespace: o.Need("namespace").Identifier(),
			Capability:       o.Need("capability").Identifier(),
			ArgumentContract: o.Need("argument_contract").Value(), ResultContract: o.Need("result_contract").Value(),
		}
	})
}

// Canonical gives the definition's canonical bytes.
func (d ToolDefinitionV1) Canonical() []byte {
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(d.Version))},
		artifact.Member{Name: "id", Value: artifact.StringValue(d.ID)},
		artifact.Member{Name: "namespace", Value: artifact.StringValue(d.Namespace)},
		artifact.Member{Name: "capability", Value: artifact.StringValue(d.Capability)},
		artifact.Member{Name: "argument_contract", Value: d.ArgumentContract},
		artifact.Member{Name: "result_contract", Value: d.ResultContract},
	).AppendCompact(nil)
}

// ParseToolCall reads a call.
func ParseToolCall(data []byte, source string) (ToolCallV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) ToolCallV1 {
		return ToolCallV1{
			Version: o.Need("version").Uint16(), CallID: o.Need("call_id").Text(),
			ToolID: o.Need("tool_id").Identifier(), Arguments: o.Need("arguments").Value(),
		}
	})
}

// Canonical gives the call's canonical bytes.
func (c ToolCallV1) Canonical() []byte {
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(c.Version))},
		artifact.Member{Name: "call_id", Value: artifact.StringValue(c.CallID)},
		artifact.Member{Name: "tool_id", Value: artifact.StringValue(c.ToolID)},
		artifact.Member{Name: "arguments", Value: c.Arguments},
	).AppendCompact(nil)
}

// ParseToolResult reads a result.
func ParseToolResult(data []byte, source string) (ToolResultV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) ToolResultV1 {
		r := ToolResultV1{
			Version: o.Need("version").Uint16(), CallID: o.Need("call_id").Text(),
			ToolID: o.Need("tool_id").Identifier(), Value: o.Need("value").Value(),
		}
		usage := o.Need("usage").Object()
		r.Usage = UsageV1{
			Calls: usage.Need("calls").Uint64(), Units: usage.Need("units").Uint64(), DurationMS: usage.Need("duration_ms").Uint64(),
		}
		usage.RefuseUnknown()
		return r
	})
}

// Canonical gives the result's canonical bytes.
func (r ToolResultV1) Canonical() []byte {
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(r.Version))},
		artifact.Member{Name: "call_id", Value: artifact.StringValue(r.CallID)},
		artifact.Member{Name: "tool_id", Value: artifact.StringValue(r.ToolID)},
		artifact.Member{Name: "value", Value: r.Value},
		artifact.Member{Name: "usage", Value: object(
			artifact.Member{Name: "calls", Value: artifact.UintValue(r.Usage.Calls)},
			artifact.Member{Name: "units", Value: artifact.UintValue(r.Usage.Units)},
			artifact.Member{Name: "duration_ms", Value: artifact.UintValue(r.Usage.DurationMS)},
		)},
	).AppendCompact(nil)
}

// ParseToolAudit reads an audit event.
func ParseToolAudit(data []byte, source string) (ToolAuditV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) ToolAuditV1 {
		return ToolAuditV1{
			Version: o.Need("version").Uint16(), Sequence: o.Need("sequence").Uint64(), CallID: o.Need("call_id").Text(),
			ToolID: o.Need("tool_id").Identifier(), Executed: o.Need("outcome").Enum("executed", "denied") == "executed",
		}
	})
}

// Canonical gives the event's canonical bytes.
func (a ToolAuditV1) Canonical() []byte {
	outcome := "denied"
	if a.Executed {
		outcome = "executed"
	}
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(a.Version))},
		artifact.Member{Name: "sequence", Value: artifact.UintValue(a.Sequence)},
		artifact.Member{Name: "call_id", Value: artifact.StringValue(a.CallID)},
		artifact.Member{Name: "tool_id", Value: artifact.StringValue(a.ToolID)},
		artifact.Member{Name: "outcome", Value: artifact.StringValue(outcome)},
	).AppendCompact(nil)
}

// ParseDenial reads a version 1 denial.
func ParseDenial(data []byte, source string) (DenialV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) DenialV1 {
		d := DenialV1{Version: o.Need("version").Uint16(), Code: Code(o.Need("code").Enum(v1Codes()...))}
		if f := o.May("tool_id"); f.Present() {
			d.ToolID = artifact.Some(f.Identifier())
		}
		if f := o.May("namespace"); f.Present() {
			d.Namespace = artifact.Some(f.Identifier())
		}
		d.Message = o.Need("message").Text()
		return d
	})
}
