-- A copy of a job that has not ended.
select id, status from jobs where copy_of = %(id)s and finished_at is null order by id limit 1
