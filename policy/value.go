package policy

import (
	"github.com/writ-dev/writ/artifact"
)

func object(members ...artifact.Member) artifact.Value { return artifact.ObjectValue(members...) }

func stringList(list []string) artifact.Value {
	values := make([]artifact.Value, len(list))
	for i, s := range list {
		values[i] = artifact.StringValue(s)
	}
	return artifact.ArrayValue(values...)
}

func stringMap(m map[string]string) artifact.Value {
	members := make([]artifact.Member, 0, len(m))
	for _, name := range artifact.SortedNames(m) {
		members = append(members, artifact.Member{Name: name, Value: artifact.StringValue(m[name])})
	}
	return object(members...)
}
