package proc_test

func helpHost(string, []string) int { return 98 }
