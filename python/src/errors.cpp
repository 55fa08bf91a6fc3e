// C++ exceptions become the classes of laneway.errors. They are looked up when one is thrown, not when the module is
// loaded, because the package imports this module.
#include "laneway/base/error.hpp"

#include <cstring>
#include <exception>
#include <new>

#include "module.hpp"

namespace nb = nanobind;

namespace laneway::python {

namespace {

// Names of files may hold bytes that are no UTF-8.
void raise(const char* name, const char* what) {
    const auto size = static_cast<Py_ssize_t>(std::strlen(what));
    const auto text = nb::steal(PyUnicode_DecodeUTF8(what, size, "backslashreplace"));
    PyErr_SetObject(nb::module_::import_("laneway.errors").attr(name).ptr(), text.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const usage_error& e) {
        raise("UsageError", e.what());
    } catch (const system_error& e) {
        raise("SystemError", e.what());
    } catch (const cuda_error& e) {
        raise("CudaError", e.what());
    } catch (const timeout_error& e) {
        raise("TimeoutError", e.what());
    } catch (const device_fault& e) {
        raise("DeviceFault", e.what());
    } catch (const process_error& e) {
        raise("ProcessError", e.what());
    } catch (const error& e) {
        raise("Error", e.what());
    } catch (const std::bad_alloc&) {
        raise("SystemError", "not enough memory");
    }
}

}  // namespace

void register_errors() { nb::register_exception_translator(translate); }

}  // namespace laneway::python
