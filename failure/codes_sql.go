package failure

// sqlClass is what a SQLSTATE says: of five characters exactly, of two for all
// that begin so.
type sqlClass struct {
	code   string
	class  Class
	weight int
	rule   string // its name as a rule, made once
}

var sqlClasses = nameStates([]sqlClass{
	{code: "00", class: UnknownError, weight: 0}, {code: "01", class: UnknownError, weight: wNothing}, {code: "02", class: NotFound, weight: wGeneric},
	{code: "03", class: TemporaryServiceError, weight: wGeneric}, {code: "07", class: ValidationError, weight: wStatus},
	{code: "08001", class: NetworkTimeout, weight: wStatus}, {code: "08004", class: NetworkTimeout, weight: wGeneric}, {code: "08P01", class: NetworkTimeout, weight: wGeneric}, {code: "08", class: NetworkTimeout, weight: wStrong},
	{code: "09", class: ValidationError, weight: wGeneric}, {code: "0A", class: ValidationError, weight: wStrong}, {code: "0B", class: ValidationError, weight: wGeneric},
	{code: "0L", class: PermissionError, weight: wStrong}, {code: "0P", class: PermissionError, weight: wStrong},
	{code: "20", class: ValidationError, weight: wStrong}, {code: "21", class: ValidationError, weight: wStrong},
	{code: "22001", class: InputExceedsLimits, weight: wStrong}, {code: "22", class: ValidationError, weight: wStrong},
	{code: "23502", class: ValidationError, weight: wStrong}, {code: "23514", class: ValidationError, weight: wStrong}, {code: "23503", class: BusinessLogicError, weight: wStrong},
	{code: "23505", class: BusinessLogicError, weight: wStrong}, {code: "23000", class: BusinessLogicError, weight: wStatus}, {code: "23", class: BusinessLogicError, weight: wStrong},
	{code: "24", class: ValidationError, weight: wStrong}, {code: "25006", class: PermissionError, weight: wGeneric}, {code: "25P02", class: UnknownError, weight: wGeneric},
	{code: "25P03", class: NetworkTimeout, weight: wStrong}, {code: "25", class: ValidationError, weight: wGeneric}, {code: "26", class: ValidationError, weight: wStrong}, {code: "27", class: BusinessLogicError, weight: wStrong},
	{code: "28", class: AuthenticationFailure, weight: wCode}, {code: "2B", class: BusinessLogicError, weight: wStrong}, {code: "2D", class: ValidationError, weight: wStrong}, {code: "2F", class: ValidationError, weight: wGeneric},
	{code: "34", class: ValidationError, weight: wStrong}, {code: "38", class: UnknownError, weight: wFaint}, {code: "39", class: UnknownError, weight: wFaint}, {code: "3B", class: ValidationError, weight: wStrong},
	{code: "3D", class: NotFound, weight: wStrong}, {code: "3F", class: NotFound, weight: wStrong},
	{code: "40001", class: TemporaryServiceError, weight: wCode}, {code: "40002", class: BusinessLogicError, weight: wCode}, {code: "40003", class: UnknownError, weight: wCode},
	{code: "40P01", class: TemporaryServiceError, weight: wCode}, {code: "40", class: TemporaryServiceError, weight: wCode},
	{code: "42501", class: PermissionError, weight: wCode}, {code: "42P01", class: ValidationError, weight: wStrong}, {code: "42P04", class: BusinessLogicError, weight: wStrong},
	{code: "42710", class: BusinessLogicError, weight: wStrong}, {code: "42P07", class: BusinessLogicError, weight: wStrong}, {code: "42S01", class: BusinessLogicError, weight: wStrong},
	{code: "42S02", class: ValidationError, weight: wStrong}, {code: "42", class: ValidationError, weight: wStrong}, {code: "44", class: ValidationError, weight: wStrong},
	{code: "53100", class: ResourceConstraint, weight: wDecides}, {code: "53", class: ResourceConstraint, weight: wCode},
	{code: "54", class: InputExceedsLimits, weight: wStrong}, {code: "55006", class: TemporaryServiceError, weight: wStrong}, {code: "55P03", class: TemporaryServiceError, weight: wCode},
	{code: "55P02", class: ValidationError, weight: wStrong}, {code: "55000", class: BusinessLogicError, weight: wGeneric}, {code: "55", class: BusinessLogicError, weight: wStrong},
	{code: "57014", class: NetworkTimeout, weight: wStrong}, {code: "57P04", class: NotFound, weight: wStrong}, {code: "57P05", class: NetworkTimeout, weight: wStrong}, {code: "57", class: TemporaryServiceError, weight: wCode},
	{code: "58P01", class: NotFound, weight: wStatus}, {code: "58030", class: TemporaryServiceError, weight: wStatus}, {code: "58", class: TemporaryServiceError, weight: wStatus},
	{code: "72", class: TemporaryServiceError, weight: wStrong}, {code: "F0", class: ValidationError, weight: wStatus}, {code: "HV", class: UnknownError, weight: wGeneric},
	{code: "P0001", class: BusinessLogicError, weight: wGeneric}, {code: "P0002", class: NotFound, weight: wStatus}, {code: "P0003", class: BusinessLogicError, weight: wStatus}, {code: "P0", class: UnknownError, weight: wFaint},
	{code: "XX001", class: InvalidInput, weight: wStrong}, {code: "XX002", class: InvalidInput, weight: wStrong}, {code: "XX", class: UnknownError, weight: wGeneric},
	{code: "HYT00", class: NetworkTimeout, weight: wCode}, {code: "HYT01", class: NetworkTimeout, weight: wCode}, {code: "HY000", class: UnknownError, weight: wNothing}, {code: "HY", class: UnknownError, weight: wNothing},
	{code: "IM", class: ValidationError, weight: wGeneric}, {code: "70100", class: NetworkTimeout, weight: wStatus}, {code: "S0", class: ValidationError, weight: wGeneric},
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
	class    Class
	weight   int
}

// mysqlErrors are those of MySQL and MariaDB.
var mysqlErrors = []vendorError{
	{1005, 1005, ValidationError, wStatus}, {1006, 1008, BusinessLogicError, wStatus}, {1015, 1015, TemporaryServiceError, wStatus},
	{1016, 1017, NotFound, wStatus}, {1020, 1020, TemporaryServiceError, wCode}, {1021, 1021, ResourceConstraint, wDecides},
	{1022, 1022, BusinessLogicError, wStrong}, {1028, 1028, UnknownError, wGeneric}, {1030, 1030, UnknownError, wGeneric},
	{1034, 1035, InvalidInput, wStatus}, {1036, 1036, PermissionError, wStatus}, {1037, 1038, ResourceConstraint, wCode},
	{1040, 1041, ResourceConstraint, wCode}, {1042, 1043, NetworkTimeout, wStrong}, {1044, 1044, PermissionError, wCode},
	{1045, 1045, AuthenticationFailure, wCode}, {1046, 1046, ValidationError, wStrong}, {1049, 1049, NotFound, wStrong},
	{1050, 1050, BusinessLogicError, wStrong}, {1051, 1052, ValidationError, wStrong}, {1053, 1053, TemporaryServiceError, wCode},
	{1054, 1059, ValidationError, wStrong}, {1060, 1061, BusinessLogicError, wStrong}, {1062, 1062, BusinessLogicError, wCode},
	{1063, 1068, ValidationError, wStrong}, {1069, 1075, InputExceedsLimits, wStatus}, {1077, 1080, TemporaryServiceError, wStatus},
	{1081, 1081, NetworkTimeout, wStatus}, {1094, 1094, NotFound, wGeneric}, {1095, 1095, PermissionError, wStrong},
	{1099, 1100, ValidationError, wStatus}, {1104, 1104, InputExceedsLimits, wStatus}, {1105, 1105, UnknownError, wNothing},
	{1109, 1113, ValidationError, wStrong}, {1114, 1114, ResourceConstraint, wCode}, {1115, 1118, ValidationError, wStrong},
	{1129, 1129, PermissionError, wStrong}, {1130, 1130, PermissionError, wStrong}, {1131, 1133, PermissionError, wStrong},
	{1135, 1135, ResourceConstraint, wStrong}, {1136, 1136, ValidationError, wStrong}, {1137, 1137, ValidationError, wGeneric},
	{1142, 1143, PermissionError, wCode}, {1146, 1146, ValidationError, wStrong}, {1147, 1149, ValidationError, wStrong},
	{1152, 1152, NetworkTimeout, wStrong}, {1153, 1153, InputExceedsLimits, wCode}, {1154, 1161, NetworkTimeout, wStrong},
	{1162, 1163, InputExceedsLimits, wStatus}, {1169, 1169, BusinessLogicError, wStrong}, {1180, 1180, TemporaryServiceError, wStatus},
	{1184, 1184, NetworkTimeout, wStrong}, {1192, 1192, ValidationError, wStatus}, {1194, 1195, InvalidInput, wStatus},
	{1203, 1203, ResourceConstraint, wCode}, {1205, 1205, TemporaryServiceError, wCode}, {1206, 1206, ResourceConstraint, wCode},
	{1207, 1207, PermissionError, wStatus}, {1213, 1213, TemporaryServiceError, wCode}, {1216, 1217, BusinessLogicError, wCode},
	{1222, 1222, ValidationError, wStrong}, {1226, 1226, ResourceConstraint, wStrong}, {1227, 1227, PermissionError, wCode},
	{1231, 1232, ValidationError, wStrong}, {1235, 1235, ValidationError, wStrong}, {1241, 1242, ValidationError, wStrong},
	{1251, 1251, AuthenticationFailure, wStrong}, {1264, 1267, ValidationError, wStrong}, {1290, 1290, TemporaryServiceError, wGeneric},
	{1292, 1292, ValidationError, wStrong}, {1297, 1297, TemporaryServiceError, wStrong}, {1305, 1305, ValidationError, wStrong},
	{1317, 1317, TemporaryServiceError, wStrong}, {1364, 1367, ValidationError, wStrong}, {1396, 1396, BusinessLogicError, wStatus},
	{1406, 1406, InputExceedsLimits, wStrong}, {1410, 1410, PermissionError, wStrong}, {1411, 1411, ValidationError, wStrong},
	{1451, 1452, BusinessLogicError, wCode}, {1453, 1453, BusinessLogicError, wStrong}, {1461, 1461, ResourceConstraint, wStrong},
	{1524, 1524, AuthenticationFailure, wStrong}, {1525, 1525, ValidationError, wStrong}, {1557, 1557, BusinessLogicError, wStrong},
	{1586, 1586, BusinessLogicError, wCode}, {1613, 1614, TemporaryServiceError, wStrong}, {1637, 1637, ResourceConstraint, wStrong},
	{1644, 1644, BusinessLogicError, wGeneric}, {1690, 1690, ValidationError, wStrong}, {1698, 1698, AuthenticationFailure, wCode},
	{1792, 1792, PermissionError, wGeneric}, {1820, 1820, AuthenticationFailure, wStrong}, {1836, 1836, TemporaryServiceError, wGeneric},
	{1840, 1840, ValidationError, wGeneric}, {1862, 1862, AuthenticationFailure, wStrong}, {1877, 1877, TemporaryServiceError, wStatus},
	{1927, 1927, NetworkTimeout, wStrong}, {1969, 1969, NetworkTimeout, wStrong}, {2002, 2003, TemporaryServiceError, wStrong},
	{2005, 2005, TemporaryServiceError, wStrong}, {2006, 2006, NetworkTimeout, wStrong}, {2008, 2008, ResourceConstraint, wCode},
	{2012, 2013, NetworkTimeout, wStrong}, {2014, 2014, ValidationError, wGeneric}, {2020, 2020, InputExceedsLimits, wCode},
	{2026, 2026, NetworkTimeout, wGeneric}, {2027, 2027, NetworkTimeout, wGeneric}, {2054, 2054, AuthenticationFailure, wStrong},
	{2055, 2055, NetworkTimeout, wStrong}, {2059, 2059, AuthenticationFailure, wStrong}, {2061, 2061, AuthenticationFailure, wStrong},
	{3024, 3024, NetworkTimeout, wCode}, {3058, 3058, TemporaryServiceError, wCode}, {3101, 3101, TemporaryServiceError, wCode},
	{3118, 3118, PermissionError, wStrong}, {3140, 3146, ValidationError, wStrong}, {3159, 3159, AuthenticationFailure, wStrong},
	{3572, 3572, TemporaryServiceError, wCode}, {3819, 3819, ValidationError, wStrong}, {3948, 3948, ValidationError, wStrong},
	{4031, 4031, NetworkTimeout, wStrong}, {9001, 9009, TemporaryServiceError, wStrong},
}

// edgeErrors are what a proxy in front of a site answers, with nothing else on
// the page.
var edgeErrors = []vendorError{
	{1000, 1004, PermissionError, wStrong}, {1005, 1014, PermissionError, wStrong}, {1015, 1015, RateLimitExceeded, wStrong},
	{1016, 1016, TemporaryServiceError, wStrong}, {1020, 1020, PermissionError, wStrong}, {1027, 1027, QuotaExceeded, wStrong},
	{1033, 1033, TemporaryServiceError, wStrong}, {1101, 1104, TemporaryServiceError, wStatus}, {1200, 1200, TemporaryServiceError, wStrong},
}

// oracleErrors are the numbers behind ORA-.
var oracleErrors = []vendorError{
	{1, 1, BusinessLogicError, wCode}, {18, 20, ResourceConstraint, wCode}, {28, 28, NetworkTimeout, wStrong}, {30, 30, NotFound, wStatus},
	{51, 51, TemporaryServiceError, wCode}, {54, 54, TemporaryServiceError, wCode}, {60, 60, TemporaryServiceError, wCode},
	{257, 257, ResourceConstraint, wCode}, {600, 600, UnknownError, wStatus}, {900, 999, ValidationError, wStrong}, {903, 904, ValidationError, wStrong},
	{942, 942, ValidationError, wStrong}, {1000, 1000, ResourceConstraint, wCode}, {1012, 1012, NetworkTimeout, wStrong},
	{1013, 1013, NetworkTimeout, wStrong}, {1017, 1017, AuthenticationFailure, wCode}, {1031, 1031, PermissionError, wCode},
	{1033, 1034, TemporaryServiceError, wCode}, {1041, 1041, NetworkTimeout, wStatus}, {1045, 1045, PermissionError, wCode},
	{1089, 1092, TemporaryServiceError, wCode}, {1400, 1407, ValidationError, wStrong}, {1403, 1403, NotFound, wStrong},
	{1422, 1422, BusinessLogicError, wStatus}, {1438, 1438, InputExceedsLimits, wStrong}, {1461, 1461, InputExceedsLimits, wStrong},
	{1476, 1476, ValidationError, wStrong}, {1502, 1502, TemporaryServiceError, wGeneric}, {1536, 1536, QuotaExceeded, wStrong},
	{1555, 1555, TemporaryServiceError, wCode}, {1578, 1578, InvalidInput, wStrong}, {1650, 1659, ResourceConstraint, wCode},
	{1691, 1693, ResourceConstraint, wCode}, {1722, 1722, ValidationError, wStrong}, {1830, 1861, ValidationError, wStrong},
	{2049, 2049, TemporaryServiceError, wCode}, {2290, 2290, ValidationError, wCode}, {2291, 2292, BusinessLogicError, wCode},
	{2391, 2391, ResourceConstraint, wStrong}, {2396, 2396, NetworkTimeout, wStrong}, {3113, 3114, NetworkTimeout, wCode},
	{3135, 3136, NetworkTimeout, wCode}, {4020, 4021, TemporaryServiceError, wCode}, {4030, 4036, ResourceConstraint, wCode},
	{4061, 4068, TemporaryServiceError, wStatus}, {6502, 6502, ValidationError, wStrong}, {6550, 6550, ValidationError, wStrong},
	{7445, 7445, UnknownError, wStatus}, {8177, 8177, TemporaryServiceError, wCode}, {8176, 8176, TemporaryServiceError, wCode},
	{12152, 12153, NetworkTimeout, wStrong}, {12154, 12154, ValidationError, wStrong}, {12170, 12170, NetworkTimeout, wCode},
	{12505, 12505, NotFound, wStatus}, {12514, 12514, TemporaryServiceError, wStatus}, {12516, 12520, ResourceConstraint, wStrong},
	{12526, 12528, TemporaryServiceError, wStrong}, {12535, 12537, NetworkTimeout, wStrong}, {12541, 12541, TemporaryServiceError, wCode},
	{12543, 12547, NetworkTimeout, wStrong}, {12560, 12571, NetworkTimeout, wStrong}, {12592, 12592, NetworkTimeout, wStrong},
	{12801, 12801, UnknownError, wGeneric}, {12805, 12805, TemporaryServiceError, wStrong}, {12899, 12899, InputExceedsLimits, wStrong},
	{14411, 14411, TemporaryServiceError, wStrong}, {16000, 16000, PermissionError, wGeneric}, {20000, 20999, BusinessLogicError, wStatus},
	{25402, 25409, TemporaryServiceError, wStrong}, {28000, 28002, AuthenticationFailure, wCode}, {28040, 28040, AuthenticationFailure, wStrong},
	{29275, 29275, InvalidInput, wStrong}, {30006, 30006, TemporaryServiceError, wCode}, {30036, 30036, ResourceConstraint, wCode},
}

// mssqlErrors are those of SQL Server.
var mssqlErrors = []vendorError{
	{-2, -2, NetworkTimeout, wCode}, {2, 2, NetworkTimeout, wGeneric}, {53, 53, NetworkTimeout, wStatus}, {64, 64, NetworkTimeout, wStatus},
	{102, 195, ValidationError, wStrong}, {201, 214, ValidationError, wStrong}, {207, 208, ValidationError, wStrong},
	{229, 230, PermissionError, wCode}, {233, 233, NetworkTimeout, wStatus}, {241, 248, ValidationError, wStrong},
	{262, 262, PermissionError, wCode}, {297, 300, PermissionError, wCode}, {515, 515, ValidationError, wCode},
	{547, 547, BusinessLogicError, wCode}, {596, 596, NetworkTimeout, wStrong}, {601, 601, TemporaryServiceError, wStatus},
	{605, 605, InvalidInput, wStatus}, {701, 701, ResourceConstraint, wCode}, {802, 802, ResourceConstraint, wCode},
	{823, 824, InvalidInput, wStatus}, {911, 911, NotFound, wStrong}, {916, 916, PermissionError, wCode}, {921, 927, TemporaryServiceError, wStrong},
	{976, 983, TemporaryServiceError, wStrong}, {1101, 1105, ResourceConstraint, wCode}, {1204, 1204, ResourceConstraint, wCode},
	{1205, 1205, TemporaryServiceError, wCode}, {1222, 1222, TemporaryServiceError, wCode}, {2601, 2601, BusinessLogicError, wCode},
	{2627, 2627, BusinessLogicError, wCode}, {2628, 2628, InputExceedsLimits, wCode}, {2714, 2714, BusinessLogicError, wStrong},
	{2812, 2812, ValidationError, wStrong}, {3906, 3906, PermissionError, wGeneric}, {3935, 3935, TemporaryServiceError, wStrong},
	{3960, 3967, TemporaryServiceError, wCode}, {4060, 4060, NotFound, wStatus}, {4221, 4221, TemporaryServiceError, wStrong},
	{8115, 8115, ValidationError, wStrong}, {8134, 8134, ValidationError, wStrong}, {8152, 8152, InputExceedsLimits, wCode},
	{8623, 8623, ResourceConstraint, wStatus}, {8645, 8657, ResourceConstraint, wCode}, {9001, 9002, ResourceConstraint, wCode},
	{10053, 10061, NetworkTimeout, wStrong}, {10928, 10929, ResourceConstraint, wCode}, {10936, 10936, RateLimitExceeded, wStrong},
	{17142, 17148, TemporaryServiceError, wStrong}, {18401, 18401, TemporaryServiceError, wStrong}, {18450, 18488, AuthenticationFailure, wCode},
	{18456, 18456, AuthenticationFailure, wCode}, {40143, 40143, TemporaryServiceError, wCode}, {40197, 40197, TemporaryServiceError, wCode},
	{40501, 40501, TemporaryServiceError, wCode}, {40540, 40540, TemporaryServiceError, wCode}, {40544, 40544, QuotaExceeded, wStrong},
	{40549, 40553, ResourceConstraint, wCode}, {40613, 40613, TemporaryServiceError, wCode}, {40615, 40615, PermissionError, wStrong},
	{41301, 41325, TemporaryServiceError, wCode}, {42019, 42019, TemporaryServiceError, wCode}, {49918, 49920, TemporaryServiceError, wCode},
	{50000, 59999, BusinessLogicError, wGeneric},
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
