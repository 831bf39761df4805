func bench(_ arguments: Arguments) throws(Complaint) -> Int32 { 0 }
