/* A library with a function of the same name as one of another library. */
__attribute__((noinline)) int parse(int n)
{
	__asm__ volatile("");
	return n ^ 5;
}
