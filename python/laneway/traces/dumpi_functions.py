"""What a DUMPI record of each MPI function holds.

A record has no length of its own, so the fields of every function must be known. The table has a line for each function
in the order of DUMPI's numbers, which start at 0: its name without `MPI_`, then `field:type`. A line that is indented
goes on with the function above it. Source: the reader and writer of SST DUMPI 14.1, `dumpi/common/dumpiio.c` and
`funclabels.h`, https://github.com/sstsimulator/sst-dumpi.

| type | value |
|---|---|
| `b`, `h`, `i`, `q` | signed integer of 8, 16, 32, 64 bits, big-endian |
| `B`, `H`, `I` | array of these: its length in 32 bits, then the elements |
| `II` | array of arrays of 32 bits |
| `s`, `ss`, `sss` | string: its length in 32 bits, then the bytes; an array of strings; an array of these |
| `S` | statuses, where the record's mask says that they were recorded |
| `J` | `I`, but one integer in traces of versions before 0.6.9 |
| `v` | `ss`, whose length stands there twice in traces of versions before 0.6.2 |
| `?` before a type | only in the record of the root |
| `-` for all fields | the function has a number, but is never written |
"""

from __future__ import annotations

from functools import lru_cache

_TABLE = """
Send count:i datatype:h dest:i tag:i comm:h
Recv count:i datatype:h source:i tag:i comm:h status:S
Get_count status:S datatype:h count:i
Bsend count:i datatype:h dest:i tag:i comm:h
Ssend count:i datatype:h dest:i tag:i comm:h
Rsend count:i datatype:h dest:i tag:i comm:h
Buffer_attach size:i
Buffer_detach size:i
Isend count:i datatype:h dest:i tag:i comm:h request:i
Ibsend count:i datatype:h dest:i tag:i comm:h request:i
Issend count:i datatype:h dest:i tag:i comm:h request:i
Irsend count:i datatype:h dest:i tag:i comm:h request:i
Irecv count:i datatype:h source:i tag:i comm:h request:i
Wait request:i status:S
Test request:i flag:i status:S
Request_free request:i
Waitany count:i requests:I index:i status:S
Testany count:i requests:I index:i flag:i status:S
Waitall count:i requests:I statuses:S
Testall count:i requests:I flag:i statuses:S
Waitsome count:i requests:I outcount:i indices:I statuses:S
Testsome count:i requests:I outcount:i indices:I statuses:S
Iprobe source:i tag:i comm:h flag:i status:S
Probe source:i tag:i comm:h status:S
Cancel request:i
Test_cancelled status:S cancelled:i
Send_init count:i datatype:h dest:i tag:i comm:h request:i
Bsend_init count:i datatype:h dest:i tag:i comm:h request:i
Ssend_init count:i datatype:h dest:i tag:i comm:h request:i
Rsend_init count:i datatype:h dest:i tag:i comm:h request:i
Recv_init count:i datatype:h source:i tag:i comm:h request:i
Start request:i
Startall count:i requests:I
Sendrecv sendcount:i sendtype:h dest:i sendtag:i recvcount:i recvtype:h source:i recvtag:i comm:h status:S
Sendrecv_replace count:i datatype:h dest:i sendtag:i source:i recvtag:i comm:h status:S
Type_contiguous count:i oldtype:h newtype:h
Type_vector count:i blocklength:i stride:i oldtype:h newtype:h
Type_hvector count:i blocklength:i stride:i oldtype:h newtype:h
Type_indexed count:i lengths:I indices:I oldtype:h newtype:h
Type_hindexed count:i lengths:I indices:I oldtype:h newtype:h
Type_struct count:i lengths:I indices:J oldtypes:H newtype:h
Address address:i
Type_extent datatype:h extent:i
Type_size datatype:h size:i
Type_lb datatype:h lb:i
Type_ub datatype:h ub:i
Type_commit datatype:h
Type_free datatype:h
Get_elements status:S datatype:h elements:i
Pack incount:i datatype:h outcount:i position_in:i position_out:i comm:h
Unpack incount:i position_in:i position_out:i outcount:i datatype:h comm:h
Pack_size incount:i datatype:h comm:h size:i
Barrier comm:h
Bcast count:i datatype:h root:i comm:h
Gather commrank:i sendcount:i sendtype:h root:i comm:h recvcount:?i recvtype:?h
Gatherv commrank:i commsize:i sendcount:i sendtype:h root:i comm:h recvcounts:?I displs:?I recvtype:h
Scatter commrank:i recvcount:i recvtype:h root:i comm:h sendcount:?i sendtype:?h
Scatterv commrank:i commsize:i sendtype:h recvcount:i recvtype:h root:i comm:h sendcounts:?I displs:?I
Allgather sendcount:i sendtype:h recvcount:i recvtype:h comm:h
Allgatherv commsize:i sendcount:i sendtype:h recvcounts:I displs:I recvtype:h comm:h
Alltoall sendcount:i sendtype:h recvcount:i recvtype:h comm:h
Alltoallv commsize:i sendcounts:I senddispls:I sendtype:h recvcounts:I recvdispls:I recvtype:h comm:h
Reduce count:i datatype:h op:b root:i comm:h
Op_create commute:i op:b
Op_free op:b
Allreduce count:i datatype:h op:b comm:h
Reduce_scatter commsize:i recvcounts:I datatype:h op:b comm:h
Scan count:i datatype:h op:b comm:h
Group_size group:h size:i
Group_rank group:h rank:i
Group_translate_ranks group1:h count:i ranks1:I group2:h ranks2:I
Group_compare group1:h group2:h result:b
Comm_group comm:h group:h
Group_union group1:h group2:h newgroup:h
Group_intersection group1:h group2:h newgroup:h
Group_difference group1:h group2:h newgroup:h
Group_incl group:h count:i ranks:I newgroup:h
Group_excl group:h count:i ranks:I newgroup:h
Group_range_incl group:h count:i ranges:II newgroup:h
Group_range_excl group:h count:i ranges:II newgroup:h
Group_free group:h
Comm_size comm:h size:i
Comm_rank comm:h rank:i
Comm_compare comm1:h comm2:h result:b
Comm_dup oldcomm:h newcomm:h
Comm_create oldcomm:h group:h newcomm:h
Comm_split oldcomm:h color:i key:i newcomm:h
Comm_free comm:h
Comm_test_inter comm:h inter:i
Comm_remote_size comm:h size:i
Comm_remote_group comm:h group:h
Intercomm_create localcomm:h localleader:i remotecomm:h remoteleader:i tag:i newcomm:h
Intercomm_merge comm:h high:i newcomm:h
Keyval_create key:h
Keyval_free key:h
Attr_put comm:h key:i
Attr_get comm:h key:i flag:i
Attr_delete comm:h key:i
Topo_test comm:h topo:b
Cart_create oldcomm:h ndim:i dims:I periods:I reorder:i newcomm:h
Dims_create nodes:i ndim:i dims_in:I dims_out:I
Graph_create numedges:i oldcomm:h nodes:i index:I edges:I reorder:i newcomm:h
Graphdims_get comm:h nodes:i edges:i
Graph_get totedges:i totnodes:i comm:h maxindex:i maxedges:i index:I edges:I
Cartdim_get comm:h ndim:i
Cart_get ndim:i comm:h maxdims:i dims:I periods:I coords:J
Cart_rank ndim:i comm:h coords:I rank:i
Cart_coords ndim:i comm:h rank:i maxdims:i coords:I
Graph_neighbors_count comm:h rank:i nneigh:i
Graph_neighbors nneigh:i comm:h rank:i maxneighbors:i neighbors:I
Cart_shift comm:h direction:i displ:i source:i dest:i
Cart_sub ndim:i oldcomm:h remain_dims:I newcomm:h
Cart_map comm:h ndim:i dims:I period:I newrank:i
Graph_map numedges:i comm:h nodes:i index:I edges:I newrank:i
Get_processor_name name:s resultlen:i
Get_version version:i subversion:i
Errhandler_create errhandler:h
Errhandler_set comm:h errhandler:h
Errhandler_get comm:h errhandler:h
Errhandler_free errhandler:h
Error_string errorcode:i errorstring:s resultlen:i
Error_class errorcode:i errorclass:i
Wtime
Wtick
Init argv:v
Finalize
Initialized result:i
Abort comm:h errorcode:i
Pcontrol -
Close_port portname:s
Comm_accept portname:s info:h root:i oldcomm:h newcomm:h
Comm_connect portname:s info:h root:i oldcomm:h newcomm:h
Comm_disconnect comm:h
Comm_get_parent parent:h
Comm_join fd:i comm:h
Comm_spawn oldcommrank:i root:i oldcomm:h newcomm:h command:?s argv:?ss maxprocs:?i info:?h errcodes:?I
Comm_spawn_multiple totprocs:i oldcommrank:i root:i oldcomm:h newcomm:h count:?i commands:?ss argvs:?sss maxprocs:?I
    info:?H errcodes:?I
Lookup_name servicename:s info:h portname:s
Open_port info:h portname:s
Publish_name servicename:s info:h portname:s
Unpublish_name servicename:s info:h portname:s
Accumulate origincount:i origintype:h targetrank:i targetdisp:i targetcount:i targettype:h op:b win:h
Get origincount:i origintype:h targetrank:i targetdisp:i targetcount:i targettype:h win:h
Put origincount:i origintype:h targetrank:i targetdisp:i targetcount:i targettype:h win:h
Win_complete win:h
Win_create size:i dispunit:i info:h comm:h win:h
Win_fence assertion:b win:h
Win_free win:h
Win_get_group win:h group:h
Win_lock locktype:b winrank:i assertion:b win:h
Win_post group:h assertion:b win:h
Win_start group:h assertion:b win:h
Win_test win:h flag:i
Win_unlock winrank:i win:h
Win_wait win:h
Alltoallw commsize:i sendcounts:I senddispls:I sendtypes:H recvcounts:I recvdispls:I recvtypes:H comm:h
Exscan count:i datatype:h op:b comm:h
Add_error_class errorclass:i
Add_error_code errorclass:i errorcode:i
Add_error_string errorcode:i errorstring:s
Comm_call_errhandler comm:h errorcode:i
Comm_create_keyval keyval:h
Comm_delete_attr comm:h keyval:h
Comm_free_keyval keyval:h
Comm_get_attr comm:h keyval:h flag:i
Comm_get_name comm:h name:s resultlen:i
Comm_set_attr comm:h keyval:h
Comm_set_name comm:h name:s
File_call_errhandler file:h errorcode:i
Grequest_complete request:i
Grequest_start request:i
Init_thread argv:ss required:b provided:b
Is_thread_main flag:i
Query_thread supported:b
Status_set_cancelled status:S flag:i
Status_set_elements status:S datatype:h count:i
Type_create_keyval keyval:h
Type_delete_attr datatype:h keyval:h
Type_dup oldtype:h newtype:h
Type_free_keyval keyval:h
Type_get_attr datatype:h keyval:h flag:i
Type_get_contents numdatatypes:i numaddresses:i numintegers:i datatype:h maxintegers:i maxaddresses:i maxdatatypes:i
    arrintegers:I arraddresses:I arrdatatypes:H
Type_get_envelope datatype:h numintegers:i numaddresses:i numdatatypes:i combiner:b
Type_get_name datatype:h name:s resultlen:i
Type_set_attr datatype:h keyval:h
Type_set_name datatype:h name:s
Type_match_size typeclass:b size:i datatype:h
Win_call_errhandler win:h errorcode:i
Win_create_keyval keyval:h
Win_delete_attr win:h keyval:h
Win_free_keyval keyval:h
Win_get_attr win:h keyval:h flag:i
Win_get_name win:h name:s resultlen:i
Win_set_attr win:h keyval:h
Win_set_name win:h name:s
Alloc_mem size:i info:h
Comm_create_errhandler errhandler:h
Comm_get_errhandler comm:h errhandler:h
Comm_set_errhandler comm:h errhandler:h
File_create_errhandler errhandler:h
File_get_errhandler file:h errhandler:h
File_set_errhandler file:h errhandler:h
Finalized flag:i
Free_mem
Get_address address:i
Info_create info:h
Info_delete info:h key:s
Info_dup oldinfo:h newinfo:h
Info_free info:h
Info_get info:h key:s valuelength:i value:s flag:i
Info_get_nkeys info:h nkeys:i
Info_get_nthkey info:h n:i key:s
Info_get_valuelen info:h key:s valuelen:i flag:i
Info_set info:h key:s value:s
Pack_external datarep:s incount:i intype:h outcount:i position_in:i position_out:i
Pack_external_size datarep:s incount:i datatype:h size:i
Request_get_status request:i flag:i status:S
Type_create_darray size:i rank:i ndims:i gsizes:I distribs:B dargs:I psizes:I order:b oldtype:h newtype:h
Type_create_hindexed count:i blocklengths:I displacements:I oldtype:h newtype:h
Type_create_hvector count:i blocklength:i stride:i oldtype:h newtype:h
Type_create_indexed_block count:i blocklength:i displacements:I oldtype:h newtype:h
Type_create_resized oldtype:h lb:i extent:i newtype:h
Type_create_struct count:i blocklengths:I displacements:I oldtypes:H newtype:h
Type_create_subarray ndims:i sizes:I subsizes:I starts:I order:b oldtype:h newtype:h
Type_get_extent datatype:h lb:i extent:i
Type_get_true_extent datatype:h lb:i extent:i
Unpack_external datarep:s insize:i position_in:i position_out:i outcount:i datatype:h
Win_create_errhandler errhandler:h
Win_get_errhandler win:h errhandler:h
Win_set_errhandler win:h errhandler:h
File_open comm:h filename:s amode:b info:h file:h
File_close file:h
File_delete filename:s info:h
File_set_size file:h size:q
File_preallocate file:h size:q
File_get_size file:h size:q
File_get_group file:h group:h
File_get_amode file:h amode:b
File_set_info file:h info:h
File_get_info file:h info:h
File_set_view file:h offset:q hosttype:h filetype:h datarep:s info:h
File_get_view file:h offset:q hosttype:h filetype:h datarep:s
File_read_at file:h offset:q count:i datatype:h status:S
File_read_at_all file:h offset:q count:i datatype:h status:S
File_write_at file:h offset:q count:i datatype:h status:S
File_write_at_all file:h offset:q count:i datatype:h status:S
File_iread_at file:h offset:q count:i datatype:h request:i
File_iwrite_at file:h offset:q count:i datatype:h request:i
File_read file:h count:i datatype:h status:S
File_read_all file:h count:i datatype:h status:S
File_write file:h count:i datatype:h status:S
File_write_all file:h count:i datatype:h status:S
File_iread file:h count:i datatype:h request:i
File_iwrite file:h count:i datatype:h request:i
File_seek file:h offset:q whence:b
File_get_position file:h offset:q
File_get_byte_offset file:h offset:q bytes:q
File_read_shared file:h count:i datatype:h status:S
File_write_shared file:h count:i datatype:h status:S
File_iread_shared file:h count:i datatype:h request:i
File_iwrite_shared file:h count:i datatype:h request:i
File_read_ordered file:h count:i datatype:h status:S
File_write_ordered file:h count:i datatype:h status:S
File_seek_shared file:h offset:q whence:b
File_get_position_shared file:h offset:q
File_read_at_all_begin file:h offset:q count:i datatype:h
File_read_at_all_end file:h status:S
File_write_at_all_begin file:h offset:q count:i datatype:h
File_write_at_all_end file:h status:S
File_read_all_begin file:h count:i datatype:h
File_read_all_end file:h status:S
File_write_all_begin file:h count:i datatype:h
File_write_all_end file:h status:S
File_read_ordered_begin file:h count:i datatype:h
File_read_ordered_end file:h status:S
File_write_ordered_begin file:h count:i datatype:h
File_write_ordered_end file:h status:S
File_get_type_extent file:h datatype:h extent:i
Register_datarep name:s
File_set_atomicity file:h flag:i
File_get_atomicity file:h flag:i
File_sync file:h
IO_Test -
IO_Wait -
IO_Testall -
IO_Waitall -
IO_Testany -
IO_Waitany -
IO_Waitsome -
IO_Testsome -
"""


@lru_cache(maxsize=1)
def functions() -> list[tuple[str, tuple[tuple[str, str], ...] | None]]:
    """Name, as `MPI_Send`, and fields of each function, by number; None for fields that are not known."""
    found: list[tuple[str, tuple[tuple[str, str], ...] | None]] = []
    for line in _TABLE.strip().replace("\n    ", " ").splitlines():
        name, *fields = line.split()
        name = name.replace("IO_", "MPIO_") if name.startswith("IO_") else f"MPI_{name}"
        pairs = tuple((field, kind) for field, _, kind in (each.partition(":") for each in fields))
        found.append((name, None if fields == ["-"] else pairs))
    own = (("function", "q"),)  # of the program itself, as it is entered and left
    return [*found, ("", None), ("function enter", own), ("function exit", own)]


END_OF_STREAM = 293
"""Stands in the place of a function behind the last call."""
