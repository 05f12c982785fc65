-- What a server computes here depends on nothing but what is said here: no clock, no file, no object number.
\set ON_ERROR_STOP off
\set VERBOSITY terse
\pset null '(null)'
set timezone = 'UTC';
set datestyle = 'ISO, MDY';
set client_min_messages = notice;
set work_mem = '64kB';
set max_parallel_workers_per_gather = 0;
select setseed(0.25);

-- Tables, inserts, constraints, and their errors.
create table customer (id int primary key, name text not null unique, area text check (area in ('north', 'south', 'east', 'west')), credit numeric(12,2) default 0);
create table item (id serial primary key, label varchar(40), price numeric(10,3), tags text[], info jsonb);
create table sale (id bigint generated always as identity primary key, customer int references customer on delete cascade, item int references item,
  n smallint not null, at timestamptz not null, paid boolean);
insert into customer select i, 'customer ' || i, (array['north','south','east','west'])[1 + i % 4], (i * 7919 % 10007)::numeric / 13 from generate_series(1, 400) i;
insert into item (label, price, tags, info) select 'item ' || i, i * 1.125, array['t' || i % 7, 't' || i % 11],
  jsonb_build_object('w', i % 17, 'dims', jsonb_build_array(i, i * 2, null), 'nest', jsonb_build_object('even', i % 2 = 0)) from generate_series(1, 150) i;
insert into sale (customer, item, n, at, paid) select 1 + i * 31 % 400, 1 + i * 17 % 150, 1 + i % 9, timestamptz '2020-01-01 00:00+00' + i * interval '97 minutes', i % 3 > 0
  from generate_series(1, 12000) i;
insert into customer values (1, 'again', 'north', 1);
insert into customer values (1000, null, 'north', 1);
insert into customer values (1001, 'x', 'centre', 1);
insert into sale (customer, item, n, at) values (99999, 1, 1, '2021-01-01');
insert into sale (customer, item, n, at) values (1, 1, 40000, '2021-01-01');
select 1 / 0;
select no_such_column from customer;
select * from no_such_table;
select 'abc'::int;
selec 1;
create index sale_at on sale (at);
create index sale_customer on sale using hash (customer);
create index item_info on item using gin (info);
create index item_tags on item using gin (tags);
create index sale_brin on sale using brin (id);
create index customer_part on customer (credit desc) include (name) where area = 'north';
vacuum analyze customer;
vacuum (analyze) item;
vacuum analyze sale;

-- Plans and what they give: scans of each kind, joins of each kind.
explain (costs off) select * from sale where at between '2020-03-01' and '2020-03-02';
select count(*), sum(n), min(at), max(at) from sale where at between '2020-03-01' and '2020-04-02';
set enable_seqscan = off;
select sum(n) from sale where customer = 77;
select id from item where info @> '{"w": 3}' order by id;
select id from item where tags @> array['t3','t5'] order by 1;
select count(*) from sale where id between 500 and 700;
select name from customer where area = 'north' and credit > 700 order by credit desc limit 5;
reset enable_seqscan;
set enable_hashjoin = off; set enable_mergejoin = off;
select c.area, count(*) from customer c join sale s on s.customer = c.id where c.id < 20 group by 1 order by 1;
set enable_nestloop = off; set enable_mergejoin = on;
select c.area, count(*), sum(s.n * i.price) from customer c join sale s on s.customer = c.id join item i on i.id = s.item group by 1 order by 1;
set enable_hashjoin = on; set enable_mergejoin = off;
select c.area, i.tags[1], avg(s.n)::numeric(8,4) from customer c join sale s on s.customer = c.id join item i on i.id = s.item group by 1, 2 order by 1, 2;
reset enable_nestloop; reset enable_mergejoin; reset enable_hashjoin;
select c.id, count(s.id) from customer c left join sale s on s.customer = c.id and s.n = 9 and not s.paid group by c.id order by 2 desc, 1 limit 10;
select count(*) from customer a full join item b on a.id = b.id + 300;
select count(*) from customer c where not exists (select from sale s where s.customer = c.id and s.n > 8);
select x, y from generate_series(1, 3) x, lateral (select sum(n) y from sale where item = x) l order by 1;

-- Aggregates, groups, windows, sorts that do not fit into memory.
select area, grouping(area), count(*), sum(credit), stddev(credit)::numeric(20,8), string_agg(name, ',' order by name) filter (where id < 9) from customer group by rollup (area) order by area nulls last;
select customer % 5 c, item % 3 i, sum(n), bool_and(paid), bit_or(n), percentile_cont(0.3) within group (order by n), mode() within group (order by item) from sale group by cube (1, 2) order by 1 nulls last, 2 nulls last;
select id, rank() over w, dense_rank() over w, sum(n) over (w rows between 2 preceding and 1 following), lag(n, 2) over w, ntile(4) over w, first_value(at) over w
  from sale where id <= 40 window w as (partition by customer % 3 order by n, id) order by id;
select md5(string_agg(t, '|' order by k, t)) from (select md5(id::text) k, repeat(id::text, 3) t from sale) q;
select id, md5(id::text) from sale order by md5(id::text) desc offset 11000 limit 5;
select count(distinct md5((id % 4001)::text)) from sale;
select n, count(*) from (select n, md5(id::text || random()::text) h from sale) q group by n order by n;
with recursive t(n, f) as (select 1, 1::numeric union all select n + 1, f * (n + 1) from t where n < 60) select n, f from t where n % 12 = 0;
with recursive w(a, b, path) as (select 1, 2, array[1] union all select b, (a + b) % 97, path || b from w where not b = any(path)) select count(*), max(array_length(path, 1)) from w;
select customer from sale where n = 9 intersect select id from customer where credit > 300 except select 5 order by 1 limit 20;
select distinct on (area) area, id, credit from customer order by area, credit desc, id;
values (1, 'a'), (2, null) union all select 3, 'c' order by 1;

-- Types: numbers, text, regular expressions, dates, ranges, arrays, JSON, XML-free full text, bits, networks, geometry.
select 2::numeric ^ 200, sqrt(2::numeric(60,50)), 10::numeric / 3, round(-2.5::numeric), trunc(1e20::numeric / 7, 6), mod(12345678901234567890, 97), exp(3.5::numeric), ln(2::numeric), 'NaN'::numeric;
select 1e308::float8 * 10;
select sin(1), atan2(1, 2), cbrt(27), (0.1::float8 + 0.2)::text, 'Infinity'::float4, width_bucket(5.35, 0.024, 10.06, 5), gcd(84, 36), factorial(25);
select regexp_replace('The quick  brown fox', '(\w+)\s+(\w+)', '\2 \1', 'g'), regexp_matches('foobarbequebaz', '(b[^b]+)(b[^b]+)'), 'aaaa' ~ '^(a{2}){2}$', regexp_split_to_array('a1b22c', '\d+'), 'ABC' ~* 'b(?=c)', substring('foobar' from 'o(.)b');
select (regexp_matches(repeat('ab1cd22', 20), '([a-z]+)(\d+)', 'g'))[2] limit 5;
select 'x' ~ '(unclosed';
select to_char(timestamp '2024-02-29 13:04:05.678', 'Day DD Month YYYY HH12:MI:SS.MS AM IW "week" Q'), age(date '2024-02-29', date '1999-12-31'), date_trunc('quarter', timestamp '2024-08-17 10:00'), extract(epoch from timestamptz '2001-02-03 04:05:06+07'), timestamptz '2024-03-31 01:30 Europe/Berlin' at time zone 'America/New_York', interval '1 mon 40 days 30:00' * 1.5, justify_interval(interval '100 days 90 hours');
select date '2024-02-30';
select d::date from generate_series(timestamp '2024-01-31', '2024-06-30', '1 month') d;
select overlay('abcdef' placing 'ZZ' from 3 for 2), lpad('x', 5, 'ab'), translate('12345', '143', 'ax'), initcap('hello wide world'), reverse('abc'), encode(sha256('abc'), 'hex'), format('%s %I %L %5s|', 1, 'a b', 'it''s', 'r'), quote_literal(E'\\'), unistr('\0441'), upper('straße'), 'ä' collate "C" < 'b', length('日本語'), convert_to('é', 'LATIN1');
select convert_from('\xff'::bytea, 'UTF8');
select int4range(1, 10) * int4range(5, 20), daterange('2020-01-01', '2020-02-01') @> date '2020-01-15', int8multirange(int8range(1, 3), int8range(2, 9)), numrange(1, 2) -|- numrange(2, 3);
select array[1, 2, 3] || 4, array_remove(array[1, 2, 1], 1), unnest(array['a', 'b']), (array[[1, 2], [3, 4]])[2][1], array_to_string(array[1, null, 3], ',', '*'), array_positions(array[1, 2, 1], 1), (array[1, 2, 3, 4])[2:3];
select jsonb_pretty(info || '{"new": [1, {"a": "b"}]}'), info #>> '{dims,1}', info ? 'nest', jsonb_path_query_array(info, '$.dims[*] ? (@ > 3)') from item where id in (3, 4) order by id;
select jsonb_set('{"a": [1, 2]}', '{a,0}', '"x"'), '{"a": 1}'::json -> 'b', json_agg(x), jsonb_object_agg(x, x * x), to_jsonb(row(1, 'a', null)) from generate_series(1, 4) x;
select * from jsonb_to_recordset('[{"a": 1, "b": "x"}, {"a": 2}]') as t(a int, b text);
select '{"a": tru}'::json;
select to_tsvector('english', 'The fat cats sat, eating rats quickly') @@ to_tsquery('english', 'cat & rat & !dog'), ts_headline('english', 'a cat eats a rat', to_tsquery('eat')), ts_rank(to_tsvector('a b c'), to_tsquery('a | c'));
select b'1011' & b'0110', b'1' || b'01', '192.168.1.5/24'::inet + 300, network('10.1.2.3/20'), '08:00:2b:01:02:03'::macaddr, '550e8400-e29b-41d4-a716-446655440000'::uuid, '$1,234.56'::money * 3, circle '((0,0),2)' @> point '(1,1)', area(box '((0,0),(3,4))'), polygon '((0,0),(1,1),(2,0))' && polygon '((1,0),(1,2),(3,3))';
create type mood as enum ('sad', 'ok', 'happy');
create domain small as int check (value < 100);
select 'ok'::mood < 'happy', enum_range(null::mood), 99::small;
select 100::small;
select 'angry'::mood;

-- Changes: update, delete, merge, upsert, returning, cascades, transactions, savepoints.
update sale set n = n + 1, paid = not paid where id % 7 = 0;
update item set price = price * 1.1, info = info - 'dims' where id % 10 = 0 returning id, price, info;
delete from sale s using item i where s.item = i.id and i.id > 140;
insert into customer values (5, 'renamed', 'east', 9) on conflict (id) do update set credit = customer.credit + excluded.credit returning *;
insert into customer values (5, 'renamed', 'east', 9) on conflict do nothing;
merge into customer c using (values (7, 1.5), (2000, 2.5)) v(id, x) on c.id = v.id when matched then update set credit = credit + x when not matched then insert values (v.id, 'merged', 'west', x);
begin; delete from customer where id <= 50; select count(*) from sale; savepoint a; update customer set credit = credit / 0 where id = 60; rollback to a; select sum(credit) from customer; rollback;
begin; truncate sale; select count(*) from sale; select broken; select 1; rollback;
select count(*), sum(n), sum(item) from sale;
alter table item add column extra int default 5, alter column label type text using upper(label);
select id, label, extra from item order by id limit 3;
copy (select id, name, area from customer where id < 6 order by id) to stdout with (format csv, header, force_quote *);
create temp table loaded (a int, b text);
copy loaded from stdin with (delimiter ',');
1,one
2,\N
3,thr\tee
\.
select * from loaded;
create view big as select area, sum(credit) total from customer group by area having sum(credit) > 100;
create materialized view seen as select item, count(*) c from sale group by item with no data;
refresh materialized view seen;
select * from big order by 1;
select sum(c), max(item) from seen;
create table part (k int, v text) partition by range (k);
create table part1 partition of part for values from (0) to (100);
create table part2 partition of part for values from (100) to (200) partition by hash (k);
create table part2a partition of part2 for values with (modulus 2, remainder 0);
create table part2b partition of part2 for values with (modulus 2, remainder 1);
insert into part select i, 'v' || i from generate_series(0, 199) i;
insert into part values (200, 'nowhere');
select tableoid::regclass, count(*), min(k) from part group by 1 order by 1;
explain (costs off) select * from part where k = 42;
update part set k = k + 100 where k < 10;
select count(*) from part2;

-- PL/pgSQL: loops, cursors, errors caught and thrown, triggers, dynamic statements, deep recursion.
create function fib(n int) returns int language plpgsql as $$ begin if n < 2 then return n; end if; return fib(n - 1) + fib(n - 2); end $$;
select fib(15);
create function collatz(n bigint) returns setof bigint language plpgsql as $$ begin while n <> 1 loop return next n; n := case when n % 2 = 0 then n / 2 else 3 * n + 1 end; end loop; return; end $$;
select count(*), max(c) from collatz(97) c;
create function careful(a int, b int) returns text language plpgsql as $$
declare m text; s text;
begin
  return (a / b)::text;
exception when division_by_zero then
  get stacked diagnostics m = message_text, s = returned_sqlstate;
  return s || ' ' || m;
end $$;
select careful(7, 2), careful(1, 0);
select sum(length(careful(i, i % 4))) from generate_series(1, 500) i;
create function fails(depth int) returns int language plpgsql as $$ begin if depth = 0 then raise exception 'at the bottom' using errcode = 'P0042', hint = 'none'; end if; return fails(depth - 1); end $$;
select fails(40);
create function forever(n int) returns int language plpgsql as $$ begin return forever(n + 1); end $$;
set max_stack_depth = '200kB';
select forever(1);
reset max_stack_depth;
create function walk() returns numeric language plpgsql as $$
declare c cursor (low int) for select n, item from sale where n > low order by id; r record; total numeric := 0;
begin
  for r in c(3) loop total := total + r.n * r.item; continue when r.n = 5; total := total - 1; exit when total > 100000; end loop;
  for r in execute format('select %I as x from %I order by 1 limit $1', 'id', 'customer') using 4 loop raise notice 'row %', r.x; end loop;
  return total;
end $$;
select walk();
create table log (what text, old jsonb, new jsonb);
create function note() returns trigger language plpgsql as $$ begin insert into log values (tg_op, to_jsonb(old), to_jsonb(new)); if tg_op = 'DELETE' then return old; end if; new.credit := coalesce(new.credit, 0) + 1; return new; end $$;
create trigger noted before insert or update or delete on customer for each row execute function note();
update customer set credit = credit * 2 where id between 100 and 110;
insert into customer (id, name, area) values (3000, 'late', 'south');
delete from customer where id = 110;
select what, count(*), md5(string_agg(coalesce(old::text, '') || coalesce(new::text, ''), '' order by coalesce(old, new) ->> 'id')) from log group by 1 order by 1;
do $$ declare i int; begin for i in 1..200 loop begin insert into loaded values (i, case when i % 10 = 0 then null else 'n' end); if i % 10 = 0 then raise unique_violation; end if; exception when unique_violation then null; end; end loop; end $$;
select count(*), sum(a) from loaded;
create procedure twice() language plpgsql as $$ begin insert into loaded values (-1); commit; insert into loaded values (-2); rollback; end $$;
call twice();
select sum(a) from loaded where a < 0;
prepare byid (int) as select name from customer where id = $1;
execute byid(3); execute byid(4); execute byid(5); execute byid(6); execute byid(7); execute byid(8);
declare held cursor with hold for select id from customer order by id desc;
fetch 3 from held;
fetch forward 2 from held;
close held;
set statement_timeout = '30ms';
select count(*) from generate_series(1, 100000000) a where a % 7 = fib(3);
reset statement_timeout;
select pg_catalog.count(*) > 100 from pg_class;
select conname, contype, pg_get_constraintdef(oid) from pg_constraint where conrelid in ('customer'::regclass, 'sale'::regclass) order by 1;
reindex table sale;
cluster sale using sale_at;
vacuum full sale;
select count(*), sum(id), sum(n) from sale;
drop table sale, item cascade;
