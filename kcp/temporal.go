package kcp

import "strings"

// TemporalOf gives the validity window of a unit: its own, with the fields that
// it leaves open taken from the root (format section 11). It is nil when neither
// declares one.
func (m *Manifest) TemporalOf(u *Unit) *Temporal {
	own, root := u.Temporal, m.Temporal
	if own == nil || root == nil {
		if own == nil {
			return root
		}
		return own
	}
	merged := *own
	merged.Malformed = own.Malformed || root.Malformed
	for _, f := range []struct{ field, fallback *String }{
		{&merged.ValidFrom, &root.ValidFrom},
		{&merged.ValidUntil, &root.ValidUntil},
		{&merged.RecordedAt, &root.RecordedAt},
		{&merged.SupersededBy, &root.SupersededBy},
	} {
		if !f.field.Set {
			*f.field = *f.fallback
		}
	}
	return &merged
}

// ValidDate reports whether s is an ISO 8601 date that is in the calendar, alone
// or followed by "T" or a blank and anything that is not a line break. A time
// of the form hh:mm[:ss] must be in range too.
func ValidDate(s string) bool {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return false
	}
	year, month, day := twoDigits(s[0:2])*100+twoDigits(s[2:4]), twoDigits(s[5:7]), twoDigits(s[8:10])
	if year < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return false
	}
	if len(s) == 10 {
		return true
	}
	return (s[10] == 'T' || s[10] == ' ') && !strings.ContainsAny(s[11:], "\n\r\u2028\u2029") && validTime(s[11:])
}

// validTime checks the ranges of a time; text that does not begin like one is
// not judged.
func validTime(s string) bool {
	if len(s) < 5 || s[2] != ':' {
		return true
	}
	hour, minute := twoDigits(s[0:2]), twoDigits(s[3:5])
	if hour > 24 || minute > 59 || hour == 24 && minute > 0 {
		return false
	}
	if len(s) >= 8 && s[5] == ':' && twoDigits(s[6:8]) > 60 {
		return false
	}
	return true
}

// twoDigits reads two digits; anything else gives a negative number that stays
// negative when scaled and added to.
func twoDigits(s string) int {
	if s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9' {
		return -100_000
	}
	return int(s[0]-'0')*10 + int(s[1]-'0')
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}
