"""Operations that programs call directly under `flow.`, such as `flow.reshape` and `flow.watch`."""
