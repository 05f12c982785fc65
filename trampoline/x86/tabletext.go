package x86

// The opcode maps as text, one row a line; buildTable in tables.go reads them.
//
//	opcodes form prefixes [mem=HH] [reg=HH or 16 digits]; what it is
//
// form is n (no ModRM), m (ModRM), M (memory only), R (register only) or r (register only, mod ignored), and then the
// immediate: b w d (8, 16, 32 bits), bb (two of 8), z (16 or 32 by operand size), v (64 with REX.W), o (moffs), e (enter),
// i (rel8), j (rel32), t T (group 3: immediate of test), x (z, or the rel32 of xbegin).
// prefixes are the mandatory ones allowed, as VEX.pp counts them (0 none, 1 66, 2 F3, 3 F2), or * for all.
// mem has a bit for every allowed ModRM.reg of a memory form; reg the same for register forms, or with 16 digits a bit for
// every ModRM byte from C0 on. What is in no row is refused.

const textLegacy = `
00-03,08-0B,10-13,18-1B,20-23,28-2B,30-33,38-3B m * ; add or adc sbb and sub xor cmp
04,0C,14,1C,24,2C,34,3C nb *
05,0D,15,1D,25,2D,35,3D nz *
50-5F n   *                 ; push pop
63    m   *                 ; movsxd
68    nz  *                 ; push
69    mz  *                 ; imul
6A    nb  *                 ; push
6B    mb  *                 ; imul
6C-6F n   *                 ; ins outs
70-7F ni  *                 ; jo .. jg
80    mb  *                 ; group 1
81    mz  *
83    mb  *
84-8B m   *                 ; test xchg mov
8C    m   *     mem=3f reg=3f ; mov from segment
8D    M   *                 ; lea
8E    m   *     mem=3d reg=3d ; mov to segment
8F    m   *     mem=01 reg=01 ; pop
90-99 n   *                 ; nop xchg cwde cdq
9B-9F n   *                 ; fwait pushf popf sahf lahf
A0-A3 no  *                 ; mov moffs
A4-A7 n   *                 ; movs cmps
A8    nb  *                 ; test
A9    nz  *
AA-AF n   *                 ; stos lods scas
B0-B7 nb  *                 ; mov
B8-BF nv  *
C0-C1 mb  *                 ; group 2
C2    nw  *                 ; ret
C3    n   *
C6    mb  *     mem=01 reg=01000000000000ff ; mov, xabort
C7    mx  *     mem=01 reg=01000000000000ff ; mov, xbegin
C8    ne  *                 ; enter
C9    n   *                 ; leave
CA    nw  *                 ; lret
CB-CC n   *                 ; lret int3
CD    nb  *                 ; int
CF    n   *                 ; iret
D0-D3 m   *                 ; group 2
D7    n   *                 ; xlat
D8    m   *                 ; x87 from here to DF
D9    m   *     mem=fd reg=ffff7f330001ffff
DA    m   *     reg=00000200ffffffff
DB    m   *     mem=af reg=00ffff3fffffffff
DC    m   *     reg=f3
DD    m   *     mem=df reg=3d
DE    m   *     reg=ffffffff0200ffff
DF    m   *     reg=00ffff01000000ff
E0-E3 ni  *                 ; loopne loope loop jrcxz
E4-E7 nb  *                 ; in out
E8-E9 nj  *                 ; call jmp
EB    ni  *                 ; jmp
EC-EF n   *                 ; in out
F1    n   *                 ; int1
F4-F5 n   *                 ; hlt cmc
F6    mt  *                 ; group 3
F7    mT  *
F8-FD n   *                 ; clc .. std
FE    m   *     mem=03 reg=03 ; inc dec
FF    m   *     mem=7f reg=57 ; group 5
`

// text0F is 0F.
const text0F = `
00    m   *    mem=3f reg=3f; sldt
01    m   1    mem=df reg=13ff00fffdf3ff3f ; sgdt
01    m   3    mem=df reg=d3ff03fffff30f7f ; sgdt
01    m   0    mem=df reg=ffffc1fffff38f7f ; sgdt
01    m   2    reg=f7fff5fffff30f7f ; sgdt
02-03 m   *                 ; lar .. lsl
05-08 n   *                 ; syscall .. invd
09    n   02                ; wbinvd
0B    n   *                 ; ud2
0D    M   *                 ; prefetch
10-11 m   *                 ; movups
12    M   1                 ; movlpd
12    m   023               ; movlps
13    M   01                ; movlps
14-15 m   01                ; unpcklps .. unpckhps
16    M   1                 ; movhpd
16    m   02                ; movhps
17    M   01                ; movhps
18-19 m   *                 ; prefetchnta .. nopl
1A    m   0    mem=0f       ; bndldx
1A    m   1    mem=0f reg=000000000f0f0f0f ; bndmov
1A    m   23   mem=0f reg=0f; bndcl
1B    m   02   mem=0f       ; bndstx
1B    m   1    mem=0f reg=000000000f0f0f0f ; bndmov
1B    m   3    mem=0f reg=0f; bndcn
1C-1F m   *                 ; cldemote .. nopl
20-23 r   *                 ; mov cr, dr
28-29 m   01                ; movaps
2A    m   *                 ; cvtpi2ps
2B    M   *                 ; movntps
2C-2D m   *                 ; cvttps2pi .. cvtps2pi
2E-2F m   01                ; ucomiss .. comiss
30-35 n   *                 ; wrmsr .. sysexitl
37    n   *                 ; getsec
40-4F m   *                 ; cmovo .. cmovg
50    R   01                ; movmskps
51    m   *                 ; sqrtps
52-53 m   02                ; rsqrtps .. rcpps
54-57 m   01                ; andps .. xorps
58-5A m   *                 ; addps .. cvtps2pd
5B    m   012               ; cvtdq2ps
5C-5F m   *                 ; subps .. maxps
60-6B m   01                ; punpcklbw .. packssdw
6C-6D m   1                 ; punpcklqdq .. punpckhqdq
6E    m   01                ; movd
6F    m   012               ; movq
70    mb  *                 ; pshufw
71-72 Rb  01   reg=54       ; psrlw .. psrld
73    Rb  0    reg=44       ; psrlq
73    Rb  1    reg=cc       ; psrlq
74-76 m   01                ; pcmpeqb .. pcmpeqd
77    n   0                 ; emms
78    Rbb 1    reg=01       ; extrq
78    Rbb 3                 ; insertq
78    m   0                 ; vmread
79    R   13                ; extrq
79    m   0                 ; vmwrite
7C-7D m   13                ; haddpd .. hsubpd
7E-7F m   012               ; movd .. movq
80-8F nj  *                 ; jo .. jg
90-9F m   *                 ; seto .. setg
A0-A2 n   *                 ; push .. cpuid
A3    m   *                 ; bt
A4    mb  *                 ; shld
A5    m   *                 ; shld
A8-AA n   *                 ; push .. rsm
AB    m   *                 ; bts
AC    mb  *                 ; shrd
AD    m   *                 ; shrd
AE    m   3    mem=0f reg=01ff000000000000 ; fxsave
AE    m   2    mem=5f reg=01ffffffffffffff ; fxsave
AE    m   1    mem=cf reg=01ff000000000000 ; fxsave
AE    m   0    reg=0101ff0000000000 ; fxsave
AF-B1 m   *                 ; imul .. cmpxchg
B2    M   *                 ; lss
B3    m   *                 ; btr
B4-B5 M   *                 ; lfs .. lgs
B6-B7 m   *                 ; movzbl .. movzwl
B8    m   2                 ; popcnt
B9    m   *                 ; ud1
BA    mb  *    mem=f0 reg=f0; btl
BB    m   *                 ; btc
BC-BD m   012               ; bsf .. bsr
BE-C1 m   *                 ; movsbl .. xadd
C2    mb  *                 ; cmpps
C3    M   0                 ; movnti
C4    mb  01                ; pinsrw
C5    Rb  01                ; pextrw
C6    mb  01                ; shufps
C7    M   3    mem=ba       ; cmpxchg8b
C7    m   012  mem=fa reg=c0; cmpxchg8b
C8-CF n   *                 ; bswap
D0    m   13                ; addsubpd
D1-D5 m   01                ; psrlw .. pmullw
D6    R   23                ; movq2dq
D6    m   1                 ; movq
D7    R   *                 ; pmovmskb
D8-E5 m   01                ; psubusb .. pmulhw
E6    m   123               ; cvttpd2dq
E7    M   01                ; movntq
E8-EF m   01                ; psubsb .. pxor
F0    M   3                 ; lddqu
F1-F6 m   01                ; psllw .. psadbw
F7    R   01                ; maskmovq
F8-FE m   01                ; psubb .. paddd
FF    m   *                 ; ud0
`

// text0F38 is 0F 38.
const text0F38 = `
00-0B m   01                ; pshufb .. pmulhrsw
10    m   1                 ; pblendvb
14-15 m   1                 ; blendvps .. blendvpd
17    m   1                 ; ptest
1C-1E m   01                ; pabsb .. pabsd
20-25 m   1                 ; pmovsxbw .. pmovsxdq
28-29 m   1                 ; pmuldq .. pcmpeqq
2A    M   1                 ; movntdqa
2B    m   1                 ; packusdw
30-35 m   1                 ; pmovzxbw .. pmovzxdq
37-41 m   1                 ; pcmpgtq .. phminposuw
80-82 M   1                 ; invept .. invpcid
C8-CD m   0                 ; sha1nexte .. sha256msg2
CF    m   1                 ; gf2p8mulb
D8    M   2    mem=0f       ; aesencwide128kl
DB    m   1                 ; aesimc
DC    m   12                ; aesenc
DD-DF M   2                 ; aesdec128kl .. aesdec256kl
DD-DF m   1                 ; aesenclast .. aesdeclast
F0-F1 M   01                ; movbe
F0-F1 m   3                 ; crc32b .. crc32l
F5    M   1                 ; wrussd
F6    M   0                 ; wrssd
F6    m   12                ; adcx
F8    M   123               ; movdir64b
F9    M   0                 ; movdiri
FA-FB R   2                 ; encodekey128 .. encodekey256
FC    M   *                 ; aadd
`

// text0F3A is 0F 3A.
const text0F3A = `
08-0E mb  1                 ; roundps .. pblendw
0F    mb  01                ; palignr
14-17 mb  1                 ; pextrb .. extractps
20-22 mb  1                 ; pinsrb .. pinsrd
40-42 mb  1                 ; dpps .. mpsadbw
44    mb  1                 ; pclmulqdq
60-63 mb  1                 ; pcmpestrm .. pcmpistri
CC    mb  0                 ; sha1rnds4
CE-CF mb  1                 ; gf2p8affineqb .. gf2p8affineinvqb
DF    mb  1                 ; aeskeygenassist
F0    Rb  2    reg=01       ; hreset
`

// textVEX1 is VEX map 1.
const textVEX1 = `
10-11 m   *                 ; vmovups
12    M   1                 ; vmovlpd
12    m   023               ; vmovlps
13    M   01                ; vmovlps
14-15 m   01                ; vunpcklps .. vunpckhps
16    M   1                 ; vmovhpd
16    m   02                ; vmovhps
17    M   01                ; vmovhps
28-29 m   01                ; vmovaps
2A    m   23                ; vcvtsi2ssl
2B    M   01                ; vmovntps
2C-2D m   23                ; vcvttss2si .. vcvtss2si
2E-2F m   01                ; vucomiss .. vcomiss
41-42 R   01                ; kandw .. kandnw
44-47 R   01                ; knotw .. kxorw
4A-4B R   01                ; kaddw .. kunpckwd
50    R   01                ; vmovmskps
51    m   *                 ; vsqrtps
52-53 m   02                ; vrsqrtps .. vrcpps
54-57 m   01                ; vandps .. vxorps
58-5A m   *                 ; vaddps .. vcvtps2pd
5B    m   012               ; vcvtdq2ps
5C-5F m   *                 ; vsubps .. vmaxps
60-6E m   1                 ; vpunpcklbw .. vmovd
6F    m   12                ; vmovdqa
70    mb  123               ; vpshufd
71-72 Rb  1    reg=54       ; vpsrlw .. vpsrld
73    Rb  1    reg=cc       ; vpsrlq
74-76 m   1                 ; vpcmpeqb .. vpcmpeqd
77    n   *                 ; vzeroupper
7C-7D m   13                ; vhaddpd .. vhsubpd
7E-7F m   12                ; vmovd .. vmovdqa
90    m   01                ; kmovw
91    M   01                ; kmovw
92-93 R   013               ; kmovw
98-99 R   01                ; kortestw .. ktestw
AE    M   *    mem=0c       ; vldmxcsr
C2    mb  *                 ; vcmpps
C4    mb  1                 ; vpinsrw
C5    Rb  1                 ; vpextrw
C6    mb  01                ; vshufps
D0    m   13                ; vaddsubpd
D1-D6 m   1                 ; vpsrlw .. vmovq
D7    R   1                 ; vpmovmskb
D8-E5 m   1                 ; vpsubusb .. vpmulhw
E6    m   123               ; vcvttpd2dqx
E7    M   1                 ; vmovntdq
E8-EF m   1                 ; vpsubsb .. vpxor
F0    M   3                 ; vlddqu
F1-F6 m   1                 ; vpsllw .. vpsadbw
F7    R   1                 ; vmaskmovdqu
F8-FE m   1                 ; vpsubb .. vpaddd
`

// textVEX2 is VEX map 2, with FMA3, AMX, SHA512, SM3, SM4.
const textVEX2 = `
00-0F m   1                 ; vpshufb .. vtestpd
13    m   1                 ; vcvtph2ps
16-19 m   1                 ; vpermps .. vbroadcastsd
1A    M   1                 ; vbroadcastf128
1C-1E m   1                 ; vpabsb .. vpabsd
20-25 m   1                 ; vpmovsxbw .. vpmovsxdq
28-29 m   1                 ; vpmuldq .. vpcmpeqq
2A    M   1                 ; vmovntdqa
2B    m   1                 ; vpackusdw
2C-2F M   1                 ; vmaskmovps .. vmaskmovpd
30-41 m   1                 ; vpmovzxbw .. vphminposuw
45-47 m   1                 ; vpsrlvd .. vpsllvd
49    M   1                 ; sttilecfg
49    R   3                 ; tilezero
49    m   0    reg=01       ; ldtilecfg
4B    M   123               ; tileloaddt1
50-51 m   *                 ; vpdpbuud .. vpdpbuuds
52-53 m   1
58-59 m   1                 ; vpbroadcastd .. vpbroadcastq
5A    M   1                 ; vbroadcasti128
72    m   2
78-79 m   1                 ; vpbroadcastb .. vpbroadcastw
8C    M   1                 ; vpmaskmovd
8E    M   1                 ; vpmaskmovd
90-93 M   1                 ; vpgatherdd .. vgatherqps
96-9F m   1                 ; vfmaddsub132ps .. vfnmsub132ss
A6-AF m   1                 ; vfmaddsub213ps .. vfnmsub213ss
B0    M   *                 ; vcvtneoph2ps
B1    M   12                ; vbcstnesh2ps
B4-BF m   1
CF    m   1                 ; vgf2p8mulb
DB-DF m   1                 ; vaesimc .. vaesdeclast
E0-EF M   1                 ; cmpoxadd .. cmpnlexadd
F2    m   0                 ; andn
F3    m   0    mem=0e reg=0e; blsr
F5    m   023               ; bzhi
F6    m   3                 ; mulx
F7    m   *                 ; bextr
CB    R   3                 ; vsha512rnds2
CC-CD R   3                 ; vsha512msg1 .. vsha512msg2
D2-D3 m   012               ; vpdpwuud .. vpdpwusds
DA    m   *                 ; vsm3msg1 .. vsm4rnds4
`

// textVEX3 is VEX map 3, with the is4 forms of FMA4.
const textVEX3 = `
00-02 mb  1                 ; vpermq .. vpblendd
04-06 mb  1                 ; vpermilps .. vperm2f128
08-0F mb  1                 ; vroundps .. vpalignr
14-19 mb  1                 ; vpextrb .. vextractf128
1D    mb  1                 ; vcvtps2ph
20-22 mb  1                 ; vpinsrb .. vpinsrd
30-33 Rb  1                 ; kshiftrb .. kshiftld
38-39 mb  1                 ; vinserti128 .. vextracti128
40-42 mb  1                 ; vdpps .. vmpsadbw
44    mb  1                 ; vpclmulqdq
46    mb  1                 ; vperm2i128
48-4C mb  1                 ; vpermil2ps .. vpblendvb
5C-63 mb  1                 ; vfmaddsubps .. vpcmpistri
68-6F mb  1                 ; vfmaddps .. vfmsubsd
78-7F mb  1                 ; vfnmaddps .. vfnmsubsd
CE-CF mb  1                 ; vgf2p8affineqb .. vgf2p8affineinvqb
DF    mb  1                 ; vaeskeygenassist
F0    mb  3                 ; rorx
DE    mb  1                 ; vsm3rnds2
`

// textEVEX1 is EVEX map 1.
const textEVEX1 = `
10-11 m   *
12    M   1
12    m   023
13    M   01
14-15 m   01
16    M   1
16    m   02
17    M   01
28-29 m   01
2A    m   23
2B    M   01
2C-2D m   23
2E-2F m   01
51    m   *
54-57 m   01
58-5A m   *
5B    m   012
5C-5F m   *
60-6E m   1
6F    m   123               ; vmovdqa32
70    mb  123
71    mb  1    mem=54 reg=54
72    mb  1    mem=57 reg=57; vprord
73    mb  1    mem=cc reg=cc
74-76 m   1                 ; vpcmpeqb .. vpcmpeqd
78-79 m   *                 ; vcvttps2udq .. vcvtps2udq
7A-7B m   123               ; vcvttps2qq .. vcvtps2qq
7E    m   12
7F    m   123               ; vmovdqa32
C2    mb  *                 ; vcmpps
C4    mb  1
C5    Rb  1
C6    mb  01
D1-D6 m   1
D8-E5 m   1
E6    m   123
E7-EF m   1
F1-F6 m   1
F8-FE m   1
`

// textEVEX2 is EVEX map 2.
const textEVEX2 = `
00    m   1
04    m   1
0B-0D m   1
10-15 m   12                ; vpsrlvw .. vprolvd
16    m   1
18-19 m   1
1A-1B M   1                 ; vbroadcastf32x4 .. vbroadcastf32x8
1C-1F m   1
20-27 m   12
28    R   2                 ; vpmovm2b
28    m   1
29    m   12                ; vpcmpeqq
2A    R   2                 ; vpbroadcastmb2q
2A    m   1
2B-2D m   1
30-35 m   12
36-37 m   1
38    R   2                 ; vpmovm2d
38    m   1
39    m   12
3A    R   2                 ; vpbroadcastmw2d
3A    m   1
3B-40 m   1
42-47 m   1                 ; vgetexpps .. vpsllvd
4C-4D m   1                 ; vrcp14ps .. vrcp14ss
4E    m   *                 ; vrsqrt14ps
4F    m   1                 ; vrsqrt14ss
50-51 m   *                 ; vpdpbuud .. vpdpbuuds
52    M   3                 ; vp4dpwssd
52    m   12                ; vpdpwssd
53    M   3                 ; vp4dpwssds
53    m   1                 ; vpdpwssds
54-55 m   1                 ; vpopcntb .. vpopcntd
58-59 m   1
5A-5B M   1                 ; vbroadcasti32x4 .. vbroadcasti32x8
62-66 m   1                 ; vpexpandb .. vpblendmb
68    m   3                 ; vp2intersectd
70-71 m   1                 ; vpshldvw .. vpshldvd
72    m   123               ; vpshrdvw
73    m   1                 ; vpshrdvd
75-79 m   1                 ; vpermi2b
7A-7C R   1                 ; vpbroadcastb .. vpbroadcastd
7D-7F m   1                 ; vpermt2b .. vpermt2ps
83    m   1                 ; vpmultishiftqb
88-8B m   1                 ; vexpandps .. vpcompressd
8D    m   1                 ; vpermb
8F    m   1                 ; vpshufbitqmb
90-93 M   1                 ; vpgatherdd .. vgatherqps
96-99 m   1
9A-9B M   3                 ; v4fmaddps .. v4fmaddss
9A-9B m   1
9C-9F m   1
A0-A3 M   1                 ; vpscatterdd .. vscatterqps
A6-A9 m   1
AA-AB M   3                 ; v4fnmaddps .. v4fnmaddss
AA-AB m   1
AC-AF m   1
B4-BF m   1                 ; vpmadd52luq
C4    m   1                 ; vpconflictd
C6-C7 M   1    mem=66       ; vgatherpf0dps .. vgatherpf0qps
C8    m   1                 ; vexp2ps
CA-CD m   1                 ; vrcp28ps .. vrsqrt28ss
CF    m   1
DC-DF m   1
`

// textEVEX3 is EVEX map 3.
const textEVEX3 = `
00-01 mb  1
03-05 mb  1                 ; valignd
08    mb  01                ; vrndscaleph
09    mb  1                 ; vrndscalepd
0A    mb  01                ; vrndscalesh
0B    mb  1                 ; vrndscalesd
0F    mb  1
14-1B mb  1
1D-23 mb  1
25    mb  1                 ; vpternlogd
26-27 mb  01                ; vgetmantph .. vgetmantsh
38-3B mb  1                 ; vinserti32x4 .. vextracti32x8
3E-3F mb  1                 ; vpcmpub .. vpcmpb
42    mb  *                 ; vdbpsadbw
43-44 mb  1                 ; vshufi32x4
50-51 mb  1                 ; vrangeps .. vrangess
54-55 mb  1                 ; vfixupimmps .. vfixupimmss
56-57 mb  01                ; vreduceph .. vreducesh
66-67 mb  01                ; vfpclassphx .. vfpclasssh
70    mb  *                 ; vpshldw
71    mb  1                 ; vpshldd
72    mb  *                 ; vpshrdw
73    mb  1                 ; vpshrdd
C2    mb  02                ; vcmpph
CE-CF mb  1
`

// textEVEX5 is EVEX map 5 (AVX512-FP16).
const textEVEX5 = `
10-11 m   2                 ; vmovsh
1D    m   01                ; vcvtss2sh
2A    m   2                 ; vcvtsi2shl
2C-2D m   2                 ; vcvttsh2si .. vcvtsh2si
2E-2F m   0                 ; vucomish .. vcomish
51    m   02                ; vsqrtph
58-59 m   02                ; vaddph .. vmulph
5A    m   *                 ; vcvtph2pd
5B    m   012               ; vcvtdq2phx
5C-5F m   02                ; vsubph .. vmaxph
6E    m   1                 ; vmovw
78-79 m   012               ; vcvttph2udq .. vcvtph2udq
7A    m   13                ; vcvttph2qq
7B    m   12                ; vcvtph2qq
7C    m   01                ; vcvttph2uw
7D    m   *                 ; vcvtph2uw
7E    m   1                 ; vmovw
`

// textEVEX6 is EVEX map 6 (AVX512-FP16).
const textEVEX6 = `
13    m   01                ; vcvtsh2ss
2C-2D m   1                 ; vscalefph .. vscalefsh
42-43 m   1                 ; vgetexpph .. vgetexpsh
4C-4F m   1                 ; vrcpph .. vrsqrtsh
56-57 m   23                ; vfmaddcph .. vfmaddcsh
96-9F m   1                 ; vfmaddsub132ph .. vfnmsub132sh
A6-AF m   1                 ; vfmaddsub213ph .. vfnmsub213sh
B6-BF m   1                 ; vfmaddsub231ph .. vfnmsub231sh
D6-D7 m   23                ; vfmulcph .. vfmulcsh
`

// textXOP8 is XOP map 8.
const textXOP8 = `
85-87 mb  0                 ; vpmacssww .. vpmacssdql
8E-8F mb  0                 ; vpmacssdd .. vpmacssdqh
95-97 mb  0                 ; vpmacsww .. vpmacsdql
9E-9F mb  0                 ; vpmacsdd .. vpmacsdqh
A2-A3 mb  0                 ; vpcmov .. vpperm
A6    mb  0                 ; vpmadcsswd
B6    mb  0                 ; vpmadcswd
C0-C3 mb  0                 ; vprotb .. vprotq
CC-CF mb  0                 ; vpcomb .. vpcomq
EC-EF mb  0                 ; vpcomub .. vpcomuq
`

// textXOP9 is XOP map 9.
const textXOP9 = `
01    m   0    mem=fe reg=fe; blcfill
02    m   0    mem=42 reg=42; blcmsk
12    R   0    reg=03       ; llwpcb
80-83 m   0                 ; vfrczps .. vfrczsd
90-9B m   0                 ; vprotb .. vpshaq
C1-C3 m   0                 ; vphaddbw .. vphaddbq
C6-C7 m   0                 ; vphaddwd .. vphaddwq
CB    m   0                 ; vphadddq
D1-D3 m   0                 ; vphaddubw .. vphaddubq
D6-D7 m   0                 ; vphadduwd .. vphadduwq
DB    m   0                 ; vphaddudq
E1-E3 m   0                 ; vphsubbw .. vphsubdq
`

// textXOPA is XOP map 10.
const textXOPA = `
10    md  0                 ; bextr
12    md  0    mem=03 reg=03; lwpins
`
