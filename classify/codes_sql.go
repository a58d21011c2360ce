package classify

import "github.com/redrive/redrive/failure"

// sqlClass is what a SQLSTATE says: of five characters exactly, of two for all
// that begin so.
type sqlClass struct {
	code   string
	class  failure.Class
	weight int
	rule   string // its name as a rule, made once
}

var sqlClasses = nameStates([]sqlClass{
	{code: "00", class: failure.UnknownError, weight: 0}, {code: "01", class: failure.UnknownError, weight: wNothing}, {code: "02", class: failure.NotFound, weight: wGeneric},
	{code: "03", class: failure.TemporaryServiceError, weight: wGeneric}, {code: "07", class: failure.ValidationError, weight: wStatus},
	{code: "08001", class: failure.NetworkTimeout, weight: wStatus}, {code: "08004", class: failure.NetworkTimeout, weight: wGeneric}, {code: "08P01", class: failure.NetworkTimeout, weight: wGeneric}, {code: "08", class: failure.NetworkTimeout, weight: wStrong},
	{code: "09", class: failure.ValidationError, weight: wGeneric}, {code: "0A", class: failure.ValidationError, weight: wStrong}, {code: "0B", class: failure.ValidationError, weight: wGeneric},
	{code: "0L", class: failure.PermissionError, weight: wStrong}, {code: "0P", class: failure.PermissionError, weight: wStrong},
	{code: "20", class: failure.ValidationError, weight: wStrong}, {code: "21", class: failure.ValidationError, weight: wStrong},
	{code: "22001", class: failure.InputExceedsLimits, weight: wStrong}, {code: "22", class: failure.ValidationError, weight: wStrong},
	{code: "23502", class: failure.ValidationError, weight: wStrong}, {code: "23514", class: failure.ValidationError, weight: wStrong}, {code: "23503", class: failure.BusinessLogicError, weight: wStrong},
	{code: "23505", class: failure.BusinessLogicError, weight: wStrong}, {code: "23000", class: failure.BusinessLogicError, weight: wStatus}, {code: "23", class: failure.BusinessLogicError, weight: wStrong},
	{code: "24", class: failure.ValidationError, weight: wStrong}, {code: "25006", class: failure.PermissionError, weight: wGeneric}, {code: "25P02", class: failure.UnknownError, weight: wGeneric},
	{code: "25P03", class: failure.NetworkTimeout, weight: wStrong}, {code: "25", class: failure.ValidationError, weight: wGeneric}, {code: "26", class: failure.ValidationError, weight: wStrong}, {code: "27", class: failure.BusinessLogicError, weight: wStrong},
	{code: "28", class: failure.AuthenticationFailure, weight: wCode}, {code: "2B", class: failure.BusinessLogicError, weight: wStrong}, {code: "2D", class: failure.ValidationError, weight: wStrong}, {code: "2F", class: failure.ValidationError, weight: wGeneric},
	{code: "34", class: failure.ValidationError, weight: wStrong}, {code: "38", class: failure.UnknownError, weight: wFaint}, {code: "39", class: failure.UnknownError, weight: wFaint}, {code: "3B", class: failure.ValidationError, weight: wStrong},
	{code: "3D", class: failure.NotFound, weight: wStrong}, {code: "3F", class: failure.NotFound, weight: wStrong},
	{code: "40001", class: failure.TemporaryServiceError, weight: wCode}, {code: "40002", class: failure.BusinessLogicError, weight: wCode}, {code: "40003", class: failure.UnknownError, weight: wCode},
	{code: "40P01", class: failure.TemporaryServiceError, weight: wCode}, {code: "40", class: failure.TemporaryServiceError, weight: wCode},
	{code: "42501", class: failure.PermissionError, weight: wCode}, {code: "42P01", class: failure.ValidationError, weight: wStrong}, {code: "42P04", class: failure.BusinessLogicError, weight: wStrong},
	{code: "42710", class: failure.BusinessLogicError, weight: wStrong}, {code: "42P07", class: failure.BusinessLogicError, weight: wStrong}, {code: "42S01", class: failure.BusinessLogicError, weight: wStrong},
	{code: "42S02", class: failure.ValidationError, weight: wStrong}, {code: "42", class: failure.ValidationError, weight: wStrong}, {code: "44", class: failure.ValidationError, weight: wStrong},
	{code: "53100", class: failure.ResourceConstraint, weight: wDecides}, {code: "53", class: failure.ResourceConstraint, weight: wCode},
	{code: "54", class: failure.InputExceedsLimits, weight: wStrong}, {code: "55006", class: failure.TemporaryServiceError, weight: wStrong}, {code: "55P03", class: failure.TemporaryServiceError, weight: wCode},
	{code: "55P02", class: failure.ValidationError, weight: wStrong}, {code: "55000", class: failure.BusinessLogicError, weight: wGeneric}, {code: "55", class: failure.BusinessLogicError, weight: wStrong},
	{code: "57014", class: failure.NetworkTimeout, weight: wStrong}, {code: "57P04", class: failure.NotFound, weight: wStrong}, {code: "57P05", class: failure.NetworkTimeout, weight: wStrong}, {code: "57", class: failure.TemporaryServiceError, weight: wCode},
	{code: "58P01", class: failure.NotFound, weight: wStatus}, {code: "58030", class: failure.TemporaryServiceError, weight: wStatus}, {code: "58", class: failure.TemporaryServiceError, weight: wStatus},
	{code: "72", class: failure.TemporaryServiceError, weight: wStrong}, {code: "F0", class: failure.ValidationError, weight: wStatus}, {code: "HV", class: failure.UnknownError, weight: wGeneric},
	{code: "P0001", class: failure.BusinessLogicError, weight: wGeneric}, {code: "P0002", class: failure.NotFound, weight: wStatus}, {code: "P0003", class: failure.BusinessLogicError, weight: wStatus}, {code: "P0", class: failure.UnknownError, weight: wFaint},
	{code: "XX001", class: failure.InvalidInput, weight: wStrong}, {code: "XX002", class: failure.InvalidInput, weight: wStrong}, {code: "XX", class: failure.UnknownError, weight: wGeneric},
	{code: "HYT00", class: failure.NetworkTimeout, weight: wCode}, {code: "HYT01", class: failure.NetworkTimeout, weight: wCode}, {code: "HY000", class: failure.UnknownError, weight: wNothing}, {code: "HY", class: failure.UnknownError, weight: wNothing},
	{code: "IM", class: failure.ValidationError, weight: wGeneric}, {code: "70100", class: failure.NetworkTimeout, weight: wStatus}, {code: "S0", class: failure.ValidationError, weight: wGeneric},
})

func nameStates(all []sqlClass) []sqlClass {
	for i := range all {
		all[i].rule = "pg." + all[i].code
	}
	return all
}

// sqlClassOf looks a SQLSTATE up, the exact ones before their classes.
func sqlClassOf(code string) (sqlClass, bool) {
	if len(code) != 5 {
		return sqlClass{}, false
	}
	best := -1
	for i := range sqlClasses {
		if s := sqlClasses[i].code; s[0] == code[0] && code[:len(s)] == s && (best < 0 || len(s) > len(sqlClasses[best].code)) {
			best = i
		}
	}
	if best < 0 {
		return sqlClass{}, false
	}
	return sqlClasses[best], true
}

// vendorError is a numbered error of a database.
type vendorError struct {
	from, to int
	class    failure.Class
	weight   int
}

// mysqlErrors are those of MySQL and MariaDB.
var mysqlErrors = []vendorError{
	{1005, 1005, failure.ValidationError, wStatus}, {1006, 1008, failure.BusinessLogicError, wStatus}, {1015, 1015, failure.TemporaryServiceError, wStatus},
	{1016, 1017, failure.NotFound, wStatus}, {1020, 1020, failure.TemporaryServiceError, wCode}, {1021, 1021, failure.ResourceConstraint, wDecides},
	{1022, 1022, failure.BusinessLogicError, wStrong}, {1028, 1028, failure.UnknownError, wGeneric}, {1030, 1030, failure.UnknownError, wGeneric},
	{1034, 1035, failure.InvalidInput, wStatus}, {1036, 1036, failure.PermissionError, wStatus}, {1037, 1038, failure.ResourceConstraint, wCode},
	{1040, 1041, failure.ResourceConstraint, wCode}, {1042, 1043, failure.NetworkTimeout, wStrong}, {1044, 1044, failure.PermissionError, wCode},
	{1045, 1045, failure.AuthenticationFailure, wCode}, {1046, 1046, failure.ValidationError, wStrong}, {1049, 1049, failure.NotFound, wStrong},
	{1050, 1050, failure.BusinessLogicError, wStrong}, {1051, 1052, failure.ValidationError, wStrong}, {1053, 1053, failure.TemporaryServiceError, wCode},
	{1054, 1059, failure.ValidationError, wStrong}, {1060, 1061, failure.BusinessLogicError, wStrong}, {1062, 1062, failure.BusinessLogicError, wCode},
	{1063, 1068, failure.ValidationError, wStrong}, {1069, 1075, failure.InputExceedsLimits, wStatus}, {1077, 1080, failure.TemporaryServiceError, wStatus},
	{1081, 1081, failure.NetworkTimeout, wStatus}, {1094, 1094, failure.NotFound, wGeneric}, {1095, 1095, failure.PermissionError, wStrong},
	{1099, 1100, failure.ValidationError, wStatus}, {1104, 1104, failure.InputExceedsLimits, wStatus}, {1105, 1105, failure.UnknownError, wNothing},
	{1109, 1113, failure.ValidationError, wStrong}, {1114, 1114, failure.ResourceConstraint, wCode}, {1115, 1118, failure.ValidationError, wStrong},
	{1129, 1129, failure.PermissionError, wStrong}, {1130, 1130, failure.PermissionError, wStrong}, {1131, 1133, failure.PermissionError, wStrong},
	{1135, 1135, failure.ResourceConstraint, wStrong}, {1136, 1136, failure.ValidationError, wStrong}, {1137, 1137, failure.ValidationError, wGeneric},
	{1142, 1143, failure.PermissionError, wCode}, {1146, 1146, failure.ValidationError, wStrong}, {1147, 1149, failure.ValidationError, wStrong},
	{1152, 1152, failure.NetworkTimeout, wStrong}, {1153, 1153, failure.InputExceedsLimits, wCode}, {1154, 1161, failure.NetworkTimeout, wStrong},
	{1162, 1163, failure.InputExceedsLimits, wStatus}, {1169, 1169, failure.BusinessLogicError, wStrong}, {1180, 1180, failure.TemporaryServiceError, wStatus},
	{1184, 1184, failure.NetworkTimeout, wStrong}, {1192, 1192, failure.ValidationError, wStatus}, {1194, 1195, failure.InvalidInput, wStatus},
	{1203, 1203, failure.ResourceConstraint, wCode}, {1205, 1205, failure.TemporaryServiceError, wCode}, {1206, 1206, failure.ResourceConstraint, wCode},
	{1207, 1207, failure.PermissionError, wStatus}, {1213, 1213, failure.TemporaryServiceError, wCode}, {1216, 1217, failure.BusinessLogicError, wCode},
	{1222, 1222, failure.ValidationError, wStrong}, {1226, 1226, failure.ResourceConstraint, wStrong}, {1227, 1227, failure.PermissionError, wCode},
	{1231, 1232, failure.ValidationError, wStrong}, {1235, 1235, failure.ValidationError, wStrong}, {1241, 1242, failure.ValidationError, wStrong},
	{1251, 1251, failure.AuthenticationFailure, wStrong}, {1264, 1267, failure.ValidationError, wStrong}, {1290, 1290, failure.TemporaryServiceError, wGeneric},
	{1292, 1292, failure.ValidationError, wStrong}, {1297, 1297, failure.TemporaryServiceError, wStrong}, {1305, 1305, failure.ValidationError, wStrong},
	{1317, 1317, failure.TemporaryServiceError, wStrong}, {1364, 1367, failure.ValidationError, wStrong}, {1396, 1396, failure.BusinessLogicError, wStatus},
	{1406, 1406, failure.InputExceedsLimits, wStrong}, {1410, 1410, failure.PermissionError, wStrong}, {1411, 1411, failure.ValidationError, wStrong},
	{1451, 1452, failure.BusinessLogicError, wCode}, {1453, 1453, failure.BusinessLogicError, wStrong}, {1461, 1461, failure.ResourceConstraint, wStrong},
	{1524, 1524, failure.AuthenticationFailure, wStrong}, {1525, 1525, failure.ValidationError, wStrong}, {1557, 1557, failure.BusinessLogicError, wStrong},
	{1586, 1586, failure.BusinessLogicError, wCode}, {1613, 1614, failure.TemporaryServiceError, wStrong}, {1637, 1637, failure.ResourceConstraint, wStrong},
	{1644, 1644, failure.BusinessLogicError, wGeneric}, {1690, 1690, failure.ValidationError, wStrong}, {1698, 1698, failure.AuthenticationFailure, wCode},
	{1792, 1792, failure.PermissionError, wGeneric}, {1820, 1820, failure.AuthenticationFailure, wStrong}, {1836, 1836, failure.TemporaryServiceError, wGeneric},
	{1840, 1840, failure.ValidationError, wGeneric}, {1862, 1862, failure.AuthenticationFailure, wStrong}, {1877, 1877, failure.TemporaryServiceError, wStatus},
	{1927, 1927, failure.NetworkTimeout, wStrong}, {1969, 1969, failure.NetworkTimeout, wStrong}, {2002, 2003, failure.TemporaryServiceError, wStrong},
	{2005, 2005, failure.TemporaryServiceError, wStrong}, {2006, 2006, failure.NetworkTimeout, wStrong}, {2008, 2008, failure.ResourceConstraint, wCode},
	{2012, 2013, failure.NetworkTimeout, wStrong}, {2014, 2014, failure.ValidationError, wGeneric}, {2020, 2020, failure.InputExceedsLimits, wCode},
	{2026, 2026, failure.NetworkTimeout, wGeneric}, {2027, 2027, failure.NetworkTimeout, wGeneric}, {2054, 2054, failure.AuthenticationFailure, wStrong},
	{2055, 2055, failure.NetworkTimeout, wStrong}, {2059, 2059, failure.AuthenticationFailure, wStrong}, {2061, 2061, failure.AuthenticationFailure, wStrong},
	{3024, 3024, failure.NetworkTimeout, wCode}, {3058, 3058, failure.TemporaryServiceError, wCode}, {3101, 3101, failure.TemporaryServiceError, wCode},
	{3118, 3118, failure.PermissionError, wStrong}, {3140, 3146, failure.ValidationError, wStrong}, {3159, 3159, failure.AuthenticationFailure, wStrong},
	{3572, 3572, failure.TemporaryServiceError, wCode}, {3819, 3819, failure.ValidationError, wStrong}, {3948, 3948, failure.ValidationError, wStrong},
	{4031, 4031, failure.NetworkTimeout, wStrong}, {9001, 9009, failure.TemporaryServiceError, wStrong},
}

// edgeErrors are what a proxy in front of a site answers, with nothing else on
// the page.
var edgeErrors = []vendorError{
	{1000, 1004, failure.PermissionError, wStrong}, {1005, 1014, failure.PermissionError, wStrong}, {1015, 1015, failure.RateLimitExceeded, wStrong},
	{1016, 1016, failure.TemporaryServiceError, wStrong}, {1020, 1020, failure.PermissionError, wStrong}, {1027, 1027, failure.QuotaExceeded, wStrong},
	{1033, 1033, failure.TemporaryServiceError, wStrong}, {1101, 1104, failure.TemporaryServiceError, wStatus}, {1200, 1200, failure.TemporaryServiceError, wStrong},
}

// oracleErrors are the numbers behind ORA-.
var oracleErrors = []vendorError{
	{1, 1, failure.BusinessLogicError, wCode}, {18, 20, failure.ResourceConstraint, wCode}, {28, 28, failure.NetworkTimeout, wStrong}, {30, 30, failure.NotFound, wStatus},
	{51, 51, failure.TemporaryServiceError, wCode}, {54, 54, failure.TemporaryServiceError, wCode}, {60, 60, failure.TemporaryServiceError, wCode},
	{257, 257, failure.ResourceConstraint, wCode}, {600, 600, failure.UnknownError, wStatus}, {900, 999, failure.ValidationError, wStrong}, {903, 904, failure.ValidationError, wStrong},
	{942, 942, failure.ValidationError, wStrong}, {1000, 1000, failure.ResourceConstraint, wCode}, {1012, 1012, failure.NetworkTimeout, wStrong},
	{1013, 1013, failure.NetworkTimeout, wStrong}, {1017, 1017, failure.AuthenticationFailure, wCode}, {1031, 1031, failure.PermissionError, wCode},
	{1033, 1034, failure.TemporaryServiceError, wCode}, {1041, 1041, failure.NetworkTimeout, wStatus}, {1045, 1045, failure.PermissionError, wCode},
	{1089, 1092, failure.TemporaryServiceError, wCode}, {1400, 1407, failure.ValidationError, wStrong}, {1403, 1403, failure.NotFound, wStrong},
	{1422, 1422, failure.BusinessLogicError, wStatus}, {1438, 1438, failure.InputExceedsLimits, wStrong}, {1461, 1461, failure.InputExceedsLimits, wStrong},
	{1476, 1476, failure.ValidationError, wStrong}, {1502, 1502, failure.TemporaryServiceError, wGeneric}, {1536, 1536, failure.QuotaExceeded, wStrong},
	{1555, 1555, failure.TemporaryServiceError, wCode}, {1578, 1578, failure.InvalidInput, wStrong}, {1650, 1659, failure.ResourceConstraint, wCode},
	{1691, 1693, failure.ResourceConstraint, wCode}, {1722, 1722, failure.ValidationError, wStrong}, {1830, 1861, failure.ValidationError, wStrong},
	{2049, 2049, failure.TemporaryServiceError, wCode}, {2290, 2290, failure.ValidationError, wCode}, {2291, 2292, failure.BusinessLogicError, wCode},
	{2391, 2391, failure.ResourceConstraint, wStrong}, {2396, 2396, failure.NetworkTimeout, wStrong}, {3113, 3114, failure.NetworkTimeout, wCode},
	{3135, 3136, failure.NetworkTimeout, wCode}, {4020, 4021, failure.TemporaryServiceError, wCode}, {4030, 4036, failure.ResourceConstraint, wCode},
	{4061, 4068, failure.TemporaryServiceError, wStatus}, {6502, 6502, failure.ValidationError, wStrong}, {6550, 6550, failure.ValidationError, wStrong},
	{7445, 7445, failure.UnknownError, wStatus}, {8177, 8177, failure.TemporaryServiceError, wCode}, {8176, 8176, failure.TemporaryServiceError, wCode},
	{12152, 12153, failure.NetworkTimeout, wStrong}, {12154, 12154, failure.ValidationError, wStrong}, {12170, 12170, failure.NetworkTimeout, wCode},
	{12505, 12505, failure.NotFound, wStatus}, {12514, 12514, failure.TemporaryServiceError, wStatus}, {12516, 12520, failure.ResourceConstraint, wStrong},
	{12526, 12528, failure.TemporaryServiceError, wStrong}, {12535, 12537, failure.NetworkTimeout, wStrong}, {12541, 12541, failure.TemporaryServiceError, wCode},
	{12543, 12547, failure.NetworkTimeout, wStrong}, {12560, 12571, failure.NetworkTimeout, wStrong}, {12592, 12592, failure.NetworkTimeout, wStrong},
	{12801, 12801, failure.UnknownError, wGeneric}, {12805, 12805, failure.TemporaryServiceError, wStrong}, {12899, 12899, failure.InputExceedsLimits, wStrong},
	{14411, 14411, failure.TemporaryServiceError, wStrong}, {16000, 16000, failure.PermissionError, wGeneric}, {20000, 20999, failure.BusinessLogicError, wStatus},
	{25402, 25409, failure.TemporaryServiceError, wStrong}, {28000, 28002, failure.AuthenticationFailure, wCode}, {28040, 28040, failure.AuthenticationFailure, wStrong},
	{29275, 29275, failure.InvalidInput, wStrong}, {30006, 30006, failure.TemporaryServiceError, wCode}, {30036, 30036, failure.ResourceConstraint, wCode},
}

// mssqlErrors are those of SQL Server.
var mssqlErrors = []vendorError{
	{-2, -2, failure.NetworkTimeout, wCode}, {2, 2, failure.NetworkTimeout, wGeneric}, {53, 53, failure.NetworkTimeout, wStatus}, {64, 64, failure.NetworkTimeout, wStatus},
	{102, 195, failure.ValidationError, wStrong}, {201, 214, failure.ValidationError, wStrong}, {207, 208, failure.ValidationError, wStrong},
	{229, 230, failure.PermissionError, wCode}, {233, 233, failure.NetworkTimeout, wStatus}, {241, 248, failure.ValidationError, wStrong},
	{262, 262, failure.PermissionError, wCode}, {297, 300, failure.PermissionError, wCode}, {515, 515, failure.ValidationError, wCode},
	{547, 547, failure.BusinessLogicError, wCode}, {596, 596, failure.NetworkTimeout, wStrong}, {601, 601, failure.TemporaryServiceError, wStatus},
	{605, 605, failure.InvalidInput, wStatus}, {701, 701, failure.ResourceConstraint, wCode}, {802, 802, failure.ResourceConstraint, wCode},
	{823, 824, failure.InvalidInput, wStatus}, {911, 911, failure.NotFound, wStrong}, {916, 916, failure.PermissionError, wCode}, {921, 927, failure.TemporaryServiceError, wStrong},
	{976, 983, failure.TemporaryServiceError, wStrong}, {1101, 1105, failure.ResourceConstraint, wCode}, {1204, 1204, failure.ResourceConstraint, wCode},
	{1205, 1205, failure.TemporaryServiceError, wCode}, {1222, 1222, failure.TemporaryServiceError, wCode}, {2601, 2601, failure.BusinessLogicError, wCode},
	{2627, 2627, failure.BusinessLogicError, wCode}, {2628, 2628, failure.InputExceedsLimits, wCode}, {2714, 2714, failure.BusinessLogicError, wStrong},
	{2812, 2812, failure.ValidationError, wStrong}, {3906, 3906, failure.PermissionError, wGeneric}, {3935, 3935, failure.TemporaryServiceError, wStrong},
	{3960, 3967, failure.TemporaryServiceError, wCode}, {4060, 4060, failure.NotFound, wStatus}, {4221, 4221, failure.TemporaryServiceError, wStrong},
	{8115, 8115, failure.ValidationError, wStrong}, {8134, 8134, failure.ValidationError, wStrong}, {8152, 8152, failure.InputExceedsLimits, wCode},
	{8623, 8623, failure.ResourceConstraint, wStatus}, {8645, 8657, failure.ResourceConstraint, wCode}, {9001, 9002, failure.ResourceConstraint, wCode},
	{10053, 10061, failure.NetworkTimeout, wStrong}, {10928, 10929, failure.ResourceConstraint, wCode}, {10936, 10936, failure.RateLimitExceeded, wStrong},
	{17142, 17148, failure.TemporaryServiceError, wStrong}, {18401, 18401, failure.TemporaryServiceError, wStrong}, {18450, 18488, failure.AuthenticationFailure, wCode},
	{18456, 18456, failure.AuthenticationFailure, wCode}, {40143, 40143, failure.TemporaryServiceError, wCode}, {40197, 40197, failure.TemporaryServiceError, wCode},
	{40501, 40501, failure.TemporaryServiceError, wCode}, {40540, 40540, failure.TemporaryServiceError, wCode}, {40544, 40544, failure.QuotaExceeded, wStrong},
	{40549, 40553, failure.ResourceConstraint, wCode}, {40613, 40613, failure.TemporaryServiceError, wCode}, {40615, 40615, failure.PermissionError, wStrong},
	{41301, 41325, failure.TemporaryServiceError, wCode}, {42019, 42019, failure.TemporaryServiceError, wCode}, {49918, 49920, failure.TemporaryServiceError, wCode},
	{50000, 59999, failure.BusinessLogicError, wGeneric},
}

// vendorOf looks a number up, the narrowest range before the others.
func vendorOf(table []vendorError, number int64) (vendorError, bool) {
	best, ok := vendorError{}, false
	for _, v := range table {
		if int64(v.from) <= number && number <= int64(v.to) && (!ok || v.to-v.from < best.to-best.from) {
			best, ok = v, true
		}
	}
	return best, ok
}
