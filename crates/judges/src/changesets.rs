//! Changesets in 0.2 and 0.3: those versions have the states and the actions,
//! and describe what the actions do, but their crates have no reducer for them.

macro_rules! reducer {
    ($name:ident, $types:ident $(, $operation_status:ident)?) => {
        pub(crate) fn $name(
            state: &mut $types::state::ChangesetState,
            action: &$types::actions::StateAction,
        ) {
            use $types::actions::StateAction as Action;
            match action {
                Action::ChangesetStatusChanged(change) => {
                    let failed = change.status == $types::state::ChangesetStatus::Error;
                    state.status = change.status.clone();
                    state.error = change.error.clone().filter(|_| failed);
                }
                Action::ChangesetFileSet(set) => {
                    let mut files = state.files.iter_mut();
                    match files.find(|file| file.id == set.file.id) {
                        Some(file) => *file = set.file.clone(),
                        None => state.files.push(set.file.clone()),
                    }
                }
                Action::ChangesetFileRemoved(removed) => {
                    state.files.retain(|file| file.id != removed.file_id);
                }
                Action::ChangesetOperationsChanged(change) => {
                    state.operations.clone_from(&change.operations);
                }
                $(Action::$operation_status(change) => {
                    let mut operations = state.operations.iter_mut().flatten();
                    let of_id = operations.find(|it| it.id == change.operation_id);
                    if let Some(operation) = of_id {
                        use $types::state::ChangesetOperationStatus::Error;
                        operation.status = change.status.clone();
                        let failed = change.status == Error;
                        operation.error = change.error.clone().filter(|_| failed);
                    }
                })?
                Action::ChangesetCleared(_) => state.files.clear(),
                _ => {}
            }
        }
    };
}

reducer!(v0_2, ahp_types_0_2);
reducer!(v0_3, ahp_types_0_3, ChangesetOperationStatusChanged);
