-- All parts of a delivery, in their order, once they are here. Asked after a part was committed: whoever brings the last one
-- sees the others.
select data from parked_parts
where token = %(token)s and (select count(*) from parked_parts where token = %(token)s) = %(of)s
order by part
