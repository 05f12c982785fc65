package explain

import "testing"

func TestQuantity(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.01234: "0.0123", 3.14159: "3.14", 999.4: "999", 999.6: "1000", 2540.3: "2540", -2540.3: "-2540", 12345: "12.3 k", 1.5e6: "1.5 M", 2e9: "2 G",
	} {
		if got := Quantity(v); got != want {
			t.Errorf("Quantity(%v) is %q, not %q", v, got, want)
		}
	}
}
