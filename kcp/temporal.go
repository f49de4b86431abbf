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
// or followed by "T" or a blank and a time of the day, with a zone or without.
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
	return (s[10] == 'T' || s[10] == ' ') && validTime(s[11:])
}

// validTime reports whether s is hh:mm, with seconds, a fraction and a zone if
// they are there.
func validTime(s string) bool {
	hour, minute, s, ok := clock(s)
	if !ok || hour > 24 || minute > 59 || hour == 24 && minute > 0 {
		return false
	}
	if strings.HasPrefix(s, ":") && len(s) >= 3 {
		if second := twoDigits(s[1:3]); second < 0 || second > 60 {
			return false
		}
		s = s[3:]
		if fraction, isOne := strings.CutPrefix(s, "."); isOne {
			s = strings.TrimLeft(fraction, "0123456789")
			if len(s) == len(fraction) {
				return false
			}
		}
	}
	return validZone(strings.TrimPrefix(s, " "))
}

// validZone accepts no zone, Z, and an offset of hours with or without minutes.
func validZone(s string) bool {
	if s == "" || s == "Z" || s == "z" {
		return true
	}
	if s[0] != '+' && s[0] != '-' {
		return false
	}
	s = strings.Replace(s[1:], ":", "", 1)
	if len(s) == 2 {
		s += "00"
	}
	return len(s) == 4 && twoDigits(s[:2]) >= 0 && twoDigits(s[:2]) <= 18 && twoDigits(s[2:]) >= 0 && twoDigits(s[2:]) <= 59
}

// clock reads hh:mm and gives what follows.
func clock(s string) (hour, minute int, rest string, ok bool) {
	if len(s) < 5 || s[2] != ':' {
		return 0, 0, "", false
	}
	hour, minute = twoDigits(s[:2]), twoDigits(s[3:5])
	return hour, minute, s[5:], hour >= 0 && minute >= 0
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
