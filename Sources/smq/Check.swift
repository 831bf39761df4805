func check(_ arguments: Arguments) throws(Complaint) -> Int32 { 0 }
