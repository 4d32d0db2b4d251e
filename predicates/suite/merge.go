package suite

// merge applies a JSON merge patch (RFC 7396) and returns the result. Neither
// argument is changed; the result shares what the patch leaves alone.
func merge(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	old, _ := target.(map[string]any)
	merged := make(map[string]any, len(old)+len(changes))
	for key, value := range old {
		merged[key] = value
	}
	for key, change := range changes {
		if change == nil {
			delete(merged, key)
			continue
		}
		merged[key] = merge(old[key], change)
	}
	return merged
}
