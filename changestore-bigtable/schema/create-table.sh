# The table of changestore, for Google's command `cbt`. It takes project and instance from ~/.cbtrc, or from
# `-project` and `-instance`.
#
# A record's cells have the time at which it expires: what is older than a day has been dead for a day. What does not
# expire has a time that never comes. Claims stay; their cells are replaced in place.
cbt createtable changestore "families=c:maxversions=1,k:maxage=1d,r:maxage=1d"
