package daemon

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// redisForms are commands over all types of data, with places for keys and values. Their answers depend on nothing but what
// was said before: no clock, no order of a hash table, no chance. " | " separates commands that belong together.
//
//	{k} one of a few names; {n} a small number; {v} a word, a number, or a long text; {f} a fraction; {id} an ever larger number
var redisForms = strings.Split(strings.TrimSpace(`
SET str{k} {v}
SET str{k} {v} NX GET
SET str{k} {v} XX KEEPTTL
SET str{k} {v} EXAT 4102444800
GET str{k}
GETDEL str{k}
GETEX str{k} PXAT 4102444800000
GETSET str{k} {v}
APPEND str{k} {v}
STRLEN str{k}
GETRANGE str{k} {n} -2
SETRANGE str{k} {n} {v}
SUBSTR str{k} 0 {n}
MSET str{k} {v} str{k} {v} num{k} {n}
MSETNX str{k} {v} new{id} {v}
MGET str{k} str{k} num{k} list{k} nothing
LCS str{k} str{k} LEN
SETNX num{k} {n}
INCR num{k}
DECRBY num{k} {n}
INCRBY num{k} {n}
INCRBYFLOAT float{k} {f}
INCR str{k}
EXPIREAT str{k} 4102444800 GT
EXPIRETIME str{k}
PEXPIRETIME str{k}
PERSIST str{k}
EXPIRE str{k} -1
TTL num{k}
SET gone{k} {v} PX 1
PSETEX gone{k} 1 {v}
LPUSH list{k} {v} {v} {n}
RPUSH list{k} {v} {n} {v} {v}
LPUSHX list{k} {v}
LPOP list{k}
RPOP list{k} {n}
LLEN list{k}
LINDEX list{k} {n}
LSET list{k} {n} {v}
LRANGE list{k} {n} -{n}
LRANGE list{k} 0 -1
LREM list{k} {n} {v}
LINSERT list{k} BEFORE {v} {v}
LTRIM list{k} {n} 80
LPOS list{k} {v} COUNT 0 MAXLEN 50
LMOVE list{k} list{k} LEFT RIGHT
RPOPLPUSH list{k} list{k}
LMPOP 2 list{k} list{k} RIGHT COUNT 3
BLPOP list{k} list0 list1 list2 list3 list4 list5 0.001
RPUSH queue {v} | BLMOVE queue list{k} RIGHT LEFT 0.001
SADD ints{k} {n} {n} {n} 70000 -5
SADD set{k} {v} {v} {n} {v}
SREM set{k} {v} {n}
SCARD set{k}
SISMEMBER set{k} {v}
SMISMEMBER set{k} {v} {n} {v}
SMOVE set{k} set{k} {v}
SMEMBERS ints{k}
SINTER ints{k} ints{k}
SINTERCARD 2 set{k} set{k} LIMIT {n}
SINTERSTORE into{k} set{k} set{k}
SUNIONSTORE into{k} set{k} ints{k}
SDIFFSTORE into{k} set{k} set{k} set{k}
SORT set{k} ALPHA
SORT into{k} ALPHA DESC LIMIT 1 5
SORT ints{k} BY num* GET # GET num* DESC
SORT list{k} ALPHA STORE sorted{k}
SORT ints{k} BY nosort GET hash*->f{k}
SORT_RO ints{k} LIMIT 0 {n}
ZADD zset{k} {n} {v} {f} {v} -{n} {n}
ZADD zset{k} GT CH {n} {v}
ZADD zset{k} NX INCR {f} {v}
ZADD flat{k} 0 {v} 0 {n} 0 {v}
ZINCRBY zset{k} {n} {v}
ZREM zset{k} {v}
ZCARD zset{k}
ZCOUNT zset{k} ({n} +inf
ZSCORE zset{k} {v}
ZMSCORE zset{k} {v} {n}
ZRANK zset{k} {v}
ZREVRANK zset{k} {v}
ZRANGE zset{k} 0 -1 WITHSCORES
ZRANGE zset{k} ({n} {n}00 BYSCORE LIMIT 1 4
ZRANGE flat{k} [a (w BYLEX
ZRANGE flat{k} + - BYLEX REV
ZRANGESTORE zinto{k} zset{k} 0 {n} REV
ZREVRANGEBYSCORE zset{k} +inf -inf WITHSCORES LIMIT 0 {n}
ZLEXCOUNT flat{k} - [m
ZREMRANGEBYRANK zset{k} 0 0
ZREMRANGEBYSCORE zset{k} ({n} {n}
ZREMRANGEBYLEX flat{k} [b [c
ZPOPMIN zset{k}
ZPOPMAX zset{k} {n}
ZMPOP 2 zset{k} zset{k} MIN COUNT 2
BZPOPMIN zset{k} zset0 zset1 zset2 zset3 zset4 zset5 0.001
ZUNION 2 zset{k} ints{k} WEIGHTS 2 3 AGGREGATE MAX WITHSCORES
ZUNIONSTORE zinto{k} 2 zset{k} flat{k} AGGREGATE MIN
ZINTER 2 zset{k} flat{k} WITHSCORES
ZINTERCARD 2 zset{k} flat{k}
ZDIFF 2 zset{k} zset{k} WITHSCORES
HSET hash{k} f{k} {v} f{k} {n} g{n} {v}
HSETNX hash{k} f{k} {v}
HGET hash{k} f{k}
HMGET hash{k} f{k} f{k} g{n} nothing
HDEL hash{k} f{k} g{n}
HLEN hash{k}
HSTRLEN hash{k} f{k}
HEXISTS hash{k} g{n}
HINCRBY hash{k} c{k} {n}
HINCRBYFLOAT hash{k} d{k} {f}
HSET small{k} a {n} b {n}
HGETALL small{k}
HKEYS small{k}
HSCAN small{k} 0 MATCH a* COUNT 5
XADD stream{k} {id}-1 f {v} g {n}
XADD stream{k} NOMKSTREAM MAXLEN ~ 50 {id}-* f {v}
XLEN stream{k}
XRANGE stream{k} - + COUNT {n}
XREVRANGE stream{k} + ({n} COUNT 3
XREAD COUNT 2 STREAMS stream{k} stream{k} {n} 0
XDEL stream{k} {n}-1
XTRIM stream{k} MAXLEN = 60
XGROUP CREATE stream{k} group{k} 0 MKSTREAM
XGROUP CREATECONSUMER stream{k} group{k} c{k}
XREADGROUP GROUP group{k} c{k} COUNT 2 STREAMS stream{k} >
XREADGROUP GROUP group{k} c{k} COUNT 2 STREAMS stream{k} 0
XACK stream{k} group{k} {n}-1
XPENDING stream{k} group{k}
XCLAIM stream{k} group{k} c{k} 0 {n}-1 JUSTID
XAUTOCLAIM stream{k} group{k} c{k} 0 0 COUNT 3 JUSTID
XINFO GROUPS stream{k}
XGROUP DESTROY stream{k} group{k}
SETBIT bits{k} {n} 1
SETBIT bits{k} {n}{n} 0
GETBIT bits{k} {n}
BITCOUNT bits{k} 0 -1
BITCOUNT str{k} {n} 100 BIT
BITPOS bits{k} 1
BITOP AND bitinto{k} bits{k} str{k}
BITOP XOR bitinto{k} bits{k} bits{k} str{k}
BITOP NOT bitinto{k} bits{k}
BITFIELD bits{k} SET u8 #{n} {n} OVERFLOW SAT INCRBY i5 {n} 9 GET u16 0
BITFIELD_RO bits{k} GET i12 {n}
GEOADD geo{k} 13.{n} 38.{n} p{k} 2.{n} 48.{n} q{k} -{n} {n} r{n}
GEODIST geo{k} p{k} q{k} km
GEOHASH geo{k} p{k} q{k} nothing
GEOPOS geo{k} p{k} nothing
GEOSEARCH geo{k} FROMLONLAT 10 45 BYRADIUS {n}00 km ASC COUNT 4 WITHDIST WITHHASH
GEOSEARCH geo{k} FROMMEMBER p{k} BYBOX {n}000 2000 km DESC WITHCOORD
GEOSEARCHSTORE geointo{k} geo{k} FROMLONLAT 2 48 BYRADIUS 3000 mi ASC
PFADD hll{k} {v} {v} {n} {id}
PFCOUNT hll{k} hll{k}
PFMERGE hllinto{k} hll{k} hll{k}
EVAL {lua} 2 num{k} list{k} {n} {v}
EVAL_RO {lua} 2 num{k} str{k} {n} {v}
FCALL twice 1 num{k} {n}
SCRIPT EXISTS 0000000000000000000000000000000000000000
EVALSHA 0000000000000000000000000000000000000000 0
MULTI | INCR num{k} | LPUSH list{k} {v} | ZADD zset{k} {n} {v} | EXEC
MULTI | INCR num{k} | NOSUCHCOMMAND {v} | EXEC
MULTI | SET str{k} {v} | DISCARD
WATCH num{k} | INCR num{k} | MULTI | GET num{k} | EXEC
WATCH num{k} | UNWATCH
SUBSCRIBE ch{k} | UNSUBSCRIBE
PUBLISH ch{k} {v}
EXISTS str{k} list{k} set{k} str{k}
TYPE list{k}
DEL str{k} list{k}
UNLINK zset{k} hash{k}
RENAME list{k} list{k}
RENAMENX set{k} set{k}
COPY zset{k} zset{k} REPLACE
TOUCH str{k} list{k}
OBJECT ENCODING list{k}
OBJECT ENCODING str{k}
OBJECT ENCODING zset{k}
DUMP list{k}
DUMP zset{k}
DUMP str{k}
RESTORE str{k} 0 {v} REPLACE
MOVE str{k} 1
SELECT 1 | GET str{k} | DEL str{k} | SELECT 0
LPUSH str{k} {v}
INCR list{k}
HSET set{k} a b
SET str{k}
ZADD zset{k} word {v}
ECHO {v}
PING {v}
WAIT 0 0
COMMAND GETKEYS MSET a b c d
CONFIG GET maxmemory
`), "\n")

// redisScripts are for EVAL: they compute, call back, convert, and fail.
var redisScripts = []string{
	`redis.call('INCRBY', KEYS[1], ARGV[1]) return {redis.call('GET', KEYS[1]), ARGV[2], 3.9, false, {1, {2}}}`,
	`local s = 0 for i = 1, 2000 do s = (s * 31 + i) % 65521 end return s`,
	`local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end return fib(12)`,
	`return cjson.encode(cjson.decode('{"a":[1,2.5,"x",null,true],"b":{"c":[]}}').a)`,
	`return cmsgpack.pack({1, 'two', 3.5, {4, true}}) .. #ARGV[2]`,
	`return struct.pack('>I2hs', ARGV[1], 7, 'text')`,
	`return {bit.bor(ARGV[1], 12), bit.tohex(ARGV[1]), redis.sha1hex(ARGV[2])}`,
	`return {string.rep('ab', 50):gsub('b', 'cd'), ('%5.2f|%-4s|%x'):format(2 / 3, 'q', 255), ARGV[2]:upper():reverse()}`,
	`local t = {} for i = 1, 60 do t[i] = (i * 7919) % 61 end table.sort(t, function(a, b) return a > b end) return table.concat(t, ',')`,
	`return redis.pcall('LPUSH', KEYS[1], 'x')`,
	`return redis.call('NOSUCH', KEYS[2])`,
	`return redis.error_reply('MY own ' .. ARGV[1])`,
	`return redis.status_reply(tostring(pcall(function() error({}) end)))`,
	`error('thrown ' .. ARGV[1])`,
	`return {math.random(1000), math.random(1000), math.floor(-2.5), tostring(1 / 0)}`,
	`local t = redis.call('HKEYS', 'hash1') table.sort(t) return t`,
	`return #redis.call('SPOP', 'set2', 100000)`,
	`local co = coroutine.wrap(function() for i = 1, 5 do coroutine.yield(i * i) end end) return {co(), co(), co()}`,
	`return redis.call('RPUSH', KEYS[2], unpack({1, 2, 3, 'four'}))`,
}

const redisLibrary = "#!lua name=lib\nredis.register_function('twice', function(keys, args) redis.call('INCRBY', keys[1], args[1] * 2) return redis.call('GET', keys[1]) end)"

// redisScript draws n forms, always the same ones.
func redisScript(n int) (commands [][]string) {
	w := &redisWriter{r: rand.New(rand.NewPCG(7, 15))}
	commands = append(commands, []string{"FUNCTION", "LOAD", "REPLACE", redisLibrary})
	for range n {
		for _, form := range strings.Split(redisForms[w.r.IntN(len(redisForms))], " | ") {
			commands = append(commands, w.fill(form))
		}
	}
	return commands
}

// A redisWriter fills the places of forms.
type redisWriter struct {
	r  *rand.Rand
	id int
}

func (w *redisWriter) fill(form string) (args []string) {
	for _, word := range strings.Fields(form) {
		for {
			before, rest, found := strings.Cut(word, "{")
			place, after, closed := strings.Cut(rest, "}")
			if !found || !closed {
				break
			}
			word = before + w.place(place) + after
			if place == "v" || place == "lua" {
				break // what it holds may look like a place
			}
		}
		args = append(args, word)
	}
	return args
}

func (w *redisWriter) place(name string) string {
	switch name {
	case "k":
		return fmt.Sprint(w.r.IntN(6))
	case "n":
		return fmt.Sprint(w.r.IntN(40))
	case "f":
		return fmt.Sprintf("%.3f", w.r.NormFloat64()*100)
	case "id":
		w.id++
		return fmt.Sprint(w.id)
	case "lua":
		return redisScripts[w.r.IntN(len(redisScripts))]
	case "v":
		return w.value()
	}
	panic("BUG: no place is called " + name)
}

// value is a word of few, so that it is met again; a number; bytes; or long enough to change how a key is kept.
func (w *redisWriter) value() string {
	switch w.r.IntN(12) {
	case 0:
		return fmt.Sprint(w.r.IntN(1 << 40))
	case 1:
		return string([]byte{255, '\r', '\n', byte(w.r.IntN(256))})
	case 2:
		return strings.Repeat(fmt.Sprintf("long%d ", w.r.IntN(9)), 5+w.r.IntN(40))
	}
	return fmt.Sprintf("%c%d", 'a'+w.r.IntN(26), w.r.IntN(5))
}
