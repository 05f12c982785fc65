package image

import (
	"strings"
)

// Why whole functions are never instrumented.
const (
	whyStart    = "process start code: it has no caller and no frame"
	whyResolver = "runtime linker's resolver: it runs between a call and its target, with the arguments in registers"
	whySignal   = "signal return: the kernel and unwinders know it by its bytes"
	whySetjmp   = "setjmp/longjmp: it saves or replaces its own frame"
	whyVfork    = "vfork/clone: it returns twice, or on another stack"
	whyContext  = "context switch: it leaves on another stack"
	whyUnwinder = "exception unwinder: it leaves through another function's frame"
	whyMcount   = "profiling hook with a calling convention of its own"
	whyIfunc    = "resolver of an indirect function: it runs once, in the loader; the implementation is elsewhere"
	whyNested   = "second entry into the code of another function"
	whyFragment = "fragment: it runs in the frame of a function that is not known"
	whyGoStack  = "Go run-time assembly: it switches stacks or goroutines"
)

// refusals lists functions by linkage name, as the design asks ("Relocating"), with the reason.
var refusals = func() map[string]string {
	m := map[string]string{}
	for why, names := range map[string]string{
		whyStart:    "_start __start _dl_start _dl_start_user _dl_start_final _rt0_amd64 _rt0_amd64_linux _rt0_amd64_lib runtime.rt0_go",
		whySignal:   "__restore_rt __restore restore_rt runtime.sigreturn__sigaction runtime.sigreturn runtime.sigtramp runtime.cgoSigtramp runtime.sigfwd",
		whySetjmp:   "setjmp _setjmp __setjmp __sigsetjmp sigsetjmp __sigjmp_save __longjmp ____longjmp_chk __longjmp_cancel __sigsetjmp_cancel",
		whyVfork:    "vfork __vfork __libc_vfork clone __clone clone3 __clone3 __clone_internal runtime.clone",
		whyContext:  "getcontext __getcontext setcontext __setcontext swapcontext __swapcontext __start_context __push___start_context __startcontext",
		whyUnwinder: "_Unwind_RaiseException _Unwind_Resume _Unwind_ForcedUnwind _Unwind_Resume_or_Rethrow __unw_resume_asm __morestack __morestack_non_split",
		whyMcount:   "mcount _mcount __fentry__ __mcount_internal __cyg_profile_func_enter __cyg_profile_func_exit",
		whyGoStack:  "runtime.morestack runtime.morestack_noctxt runtime.mcall runtime.gogo runtime.gosave_systemstack_switch runtime.systemstack runtime.systemstack_switch runtime.asmcgocall runtime.asmcgocall_no_g runtime.cgocallback runtime.goexit runtime.asyncPreempt runtime.mstart runtime.settls runtime.sigpanic0 runtime.switchToThunk",
	} {
		for n := range strings.FieldsSeq(names) {
			m[n] = why
		}
	}
	return m
}()

// byRule are the reasons that a name alone gives: such code must not be touched, however it looks.
var byRule = map[string]bool{whyStart: true, whyResolver: true, whySignal: true, whySetjmp: true, whyVfork: true, whyContext: true,
	whyUnwinder: true, whyMcount: true, whyIfunc: true, whyGoStack: true}

// ByRule reports whether the function is refused for what it is, not for want of a way into it.
func (f *Function) ByRule() bool { return byRule[f.Refuse] }

// HandWritten reports whether the line table says that the function comes from an assembly source. Without line tables
// nothing is known, and it says false.
func (o *Object) HandWritten(f *Function) bool {
	file, _, ok := o.Line(f.Addr)
	return ok && (strings.HasSuffix(file, ".S") || strings.HasSuffix(file, ".s") || strings.HasSuffix(file, ".asm"))
}

// refusalOf gives the reason for which a function of this linkage name is never instrumented, "" if there is none.
func refusalOf(name string) string {
	if why := refusals[strings.TrimSuffix(name, ".abi0")]; why != "" {
		return why
	}
	for _, p := range []string{"_dl_runtime_resolve", "_dl_runtime_profile", "_dl_tlsdesc_"} {
		if strings.HasPrefix(name, p) {
			return whyResolver
		}
	}
	return ""
}
